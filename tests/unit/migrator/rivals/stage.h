/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of the rivals' policies over a few pages. All pages begin in the slow tier, but for the first ones. */
#ifndef HM_RIVALS_STAGE_H
#define HM_RIVALS_STAGE_H

#include "migrator/rivals/rivals.h"

#define STAGE_PAGES 64
#define STAGE_FIRST 1000 /* number of page 0 */

struct stage {
    struct hm_decider *decider;
    bool is_fast[STAGE_PAGES];
    unsigned promoted, demoted; /* pages, in the last phase */
    struct hm_budget budget;    /* used_pages is set in each phase */
};

/* The fast tier has room for `capacity` pages, and has the first `n_fast`. `cost` is that of a move, in reads. */
void stage_begin(struct stage *stage, const struct hm_algorithm *algorithm, unsigned capacity, unsigned n_fast,
                 double cost);
void stage_end(struct stage *stage);
/* Passes on samples of the page. */
void stage_see(struct stage *stage, unsigned page, unsigned reads, unsigned writes);
/* Ends a phase, and carries out its plan. */
void stage_decide(struct stage *stage);
/* Why the page stays or moves. */
enum hm_verdict stage_verdict(struct stage *stage, unsigned page);

#endif
