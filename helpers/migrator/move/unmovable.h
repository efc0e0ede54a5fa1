/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers pages that the kernel did not move, so that they are not tried again and again while they stay mapped: a
 * shared page is tried once, a busy one twice. The table has a fixed size: a new entry may replace an older one, whose
 * pages are then tried once more.
 */
#ifndef HM_MIGRATOR_MOVE_UNMOVABLE_H
#define HM_MIGRATOR_MOVE_UNMOVABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_UNMOVABLE_BLOCK 64     /* pages of a block, as each has a bit */
#define HM_UNMOVABLE_BLOCKS 32768 /* blocks: 8 GiB if the pages lie together; the table takes 768 KiB */

struct hm_unmovable_block {
    uint64_t key;  /* page / HM_UNMOVABLE_BLOCK (numbered as in decide/decide.h); 0: free (few processes map their first
                      64 pages) */
    uint64_t once; /* a bit for each page that was busy, or was shared and is so no more */
    uint64_t sure; /* a bit for each page that is not tried again: it is shared, or was not moved a second time */
};

struct hm_unmovable {
    struct hm_unmovable_block *block;
    uint64_t n_blocks;
};

/* Returns 0, or -1 (ENOMEM). */
int hm_unmovable_init(struct hm_unmovable *unmovable);
void hm_unmovable_free(struct hm_unmovable *unmovable);
/* Is the page not worth another try? */
bool hm_unmovable_has(const struct hm_unmovable *unmovable, uint64_t page);
/*
 * Notes that a page was not moved. `is_sure`: it will not move later either, as it is shared. Otherwise the page
 * counts as unmovable from the second time on: it may be pinned, or the kernel was just using it.
 */
void hm_unmovable_add(struct hm_unmovable *unmovable, uint64_t page, bool is_sure);
/* Which pages of the block that `page` is in are not tried as they were shared: a bit for each. */
uint64_t hm_unmovable_shared(const struct hm_unmovable *unmovable, uint64_t page);
/* These of them are shared no more, and are tried once again: where that fails, too, it is for good. */
void hm_unmovable_retry(struct hm_unmovable *unmovable, uint64_t page, uint64_t bits);
/* Forgets pages that are no longer mapped. */
void hm_unmovable_forget(struct hm_unmovable *unmovable, uint64_t first, uint64_t n_pages);

#endif
