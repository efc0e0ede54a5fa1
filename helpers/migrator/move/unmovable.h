/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers pages that the kernel did not move, so that they are not tried again and again while they stay mapped: a
 * busy page is tried twice, a shared one once, and once more when its process has it for itself: the other one may have
 * been a child that has ended, or executes another program. A page of a file that stays in place counts as shared. The
 * table has a fixed size: a new entry may replace an older one, whose pages are then tried once more.
 */
#ifndef HM_MIGRATOR_MOVE_UNMOVABLE_H
#define HM_MIGRATOR_MOVE_UNMOVABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "migrator/decide/decide.h"

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
 * Notes that a page was not moved. `is_sure`: it will not move while it is shared. Otherwise the page
 * counts as unmovable from the second time on: it may be pinned, or the kernel was just using it.
 */
void hm_unmovable_add(struct hm_unmovable *unmovable, uint64_t page, bool is_sure);
/*
 * Looks at the block of a page, if it was shared, in the page map of its process (-1: cannot be read): what that has
 * for itself now is tried again. Where that fails, too, it is for good: the page can be of a huge page that others map.
 */
void hm_unmovable_look_again(struct hm_unmovable *unmovable, int pagemap, uint64_t page);
/* Forgets a page, as it has been moved: what hinders it later is something new. */
void hm_unmovable_forget_one(struct hm_unmovable *unmovable, uint64_t page);
/* Forgets pages that are no longer mapped, as hm_decider_forget. */
void hm_unmovable_forget(struct hm_unmovable *unmovable, const struct hm_gone *gone, size_t n);

#endif
