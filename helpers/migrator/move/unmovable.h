/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that the kernel would not move, remembered so that they are not tried again while their mapping lives. Bounded:
 * where there is no room, an older memory gives way, and those pages are tried once more.
 */
#ifndef HM_MIGRATOR_MOVE_UNMOVABLE_H
#define HM_MIGRATOR_MOVE_UNMOVABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_UNMOVABLE_BLOCKS 32768 /* of 64 pages: 8 GiB where they lie together, in 768 KiB */

struct hm_unmovable_block {
    uint64_t key;  /* page / 64 (decide/decide.h), 0: free. Page 0 of a process is never mapped. */
    uint64_t once; /* was busy once: by page */
    uint64_t sure; /* shared, or busy twice */
};

struct hm_unmovable {
    struct hm_unmovable_block *block;
    uint64_t n_blocks;
};

/* Returns 0, or -1 (ENOMEM). */
int hm_unmovable_init(struct hm_unmovable *unmovable);
void hm_unmovable_free(struct hm_unmovable *unmovable);
bool hm_unmovable_has(const struct hm_unmovable *unmovable, uint64_t page);
/* A page was not moved. `is_sure`: it will not be the next time either (shared); otherwise only the second time counts
 * (pinned, or just in use by the kernel). */
void hm_unmovable_add(struct hm_unmovable *unmovable, uint64_t page, bool is_sure);
/* The mapping is gone. */
void hm_unmovable_forget(struct hm_unmovable *unmovable, uint64_t first, uint64_t n_pages);

#endif
