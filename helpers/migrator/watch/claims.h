/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds one home for each page of memory that is mapped several times, by one process or by many: the place at which it
 * was claimed first. Its heat is counted there, and so are its pages. Pure.
 */
#ifndef HM_MIGRATOR_WATCH_CLAIMS_H
#define HM_MIGRATOR_WATCH_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps.h"

#define HM_CLAIMS 8192 /* most claims; shared memory beyond that is left alone */

struct hm_claim { /* pages of a file, and the page at which the first of them is mapped (decide/decide.h) */
    uint64_t device, inode, offset, n_pages, home;
};

struct hm_claims { /* sorted by device, inode and offset; without overlap */
    struct hm_claim *claim;
    size_t n, room;
};

/*
 * Claims the longest piece of the mapping from its page `done` on that has one home. The piece's pages are `done` ..
 * `done` + n - 1, and its home is the page *home; if nobody has claimed it before, that is `own` (the number of the
 * page `done` here). Returns n, or 0: there is no room for another claim.
 */
uint64_t hm_claims_take(struct hm_claims *claims, const struct hm_mapping *mapping, uint64_t done, uint64_t own,
                        uint64_t *home);
/* Forgets all claims. */
void hm_claims_clear(struct hm_claims *claims);
void hm_claims_free(struct hm_claims *claims);

struct hm_alias { /* pages of one process that have their home in another place */
    uint32_t space;
    struct hm_range range;
    uint64_t home; /* of range.first */
    const struct hm_mapped *mapped;
    size_t next; /* where hm_claims_next goes on */
};

/*
 * Finds the places at which pages home .. home + n_pages - 1 are mapped besides, process by process. `place` must be
 * zeroed before the first call. Returns false if there are no more.
 */
bool hm_claims_next(const struct hm_maps *maps, uint32_t n_spaces, uint64_t home, uint64_t n_pages,
                    struct hm_alias *place);

#endif
