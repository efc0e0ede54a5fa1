/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pages of a trace are while it is replayed, and what its accesses cost there. */
#ifndef HM_MIGRATOR_REPLAY_PLACEMENT_H
#define HM_MIGRATOR_REPLAY_PLACEMENT_H

#include <stdbool.h>

#include "replay.h"

#define HM_LINES_PER_PAGE 64 /* of 64 bytes: accesses that it takes to read or to write a page */

struct hm_placement {
    const struct hm_trace *trace;
    const struct hm_replay_options *options;
    bool *is_fast, *is_present; /* by page index */
    uint64_t capacity, used;    /* pages of the fast tier */
    double cost;                /* in accesses to the fast tier */
    double mem, fast_mem, raw, fast_raw, writes, slow_writes;
    uint64_t promoted, demoted;
};

/* Nothing is present. Returns 0 (free with hm_placement_free), or -1 (ENOMEM). */
int hm_placement_init(struct hm_placement *placement, const struct hm_trace *trace,
                      const struct hm_replay_options *options);
void hm_placement_free(struct hm_placement *placement);

/* The phase's pages that are touched for the first time take the fast tier's room, while there is some. */
void hm_placement_touch(struct hm_placement *placement, size_t phase);
/* Count the phase's accesses where its pages are. */
void hm_placement_serve(struct hm_placement *placement, size_t phase);
/* Move a page that is present to the other tier, and charge it. The caller keeps within the capacity. */
void hm_placement_move(struct hm_placement *placement, size_t page);
/* What it came to; NaN where there was nothing of a kind. */
struct hm_score hm_placement_score(const struct hm_placement *placement);

#endif
