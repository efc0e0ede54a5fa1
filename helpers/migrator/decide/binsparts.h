/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the algorithm "bins": bins.c counts accesses by bin, binsplan.c decides which bins move. */
#ifndef HM_MIGRATOR_DECIDE_BINSPARTS_H
#define HM_MIGRATOR_DECIDE_BINSPARTS_H

#include "algorithm.h"

struct hm_bins_sample {
    uint64_t page;
    double reads, writes;
};

struct hm_bins {
    struct hm_decider base;
    bool is_cut;                    /* the first phase that had samples is over */
    bool is_full;                   /* merging the samples of each page left `sampled` more than half full */
    struct hm_bins_sample *sampled; /* pages of the first phase */
    size_t n_sampled, room;
    double *reads, *writes, *priority; /* by bin: reads and writes of this phase, priority over all phases */
    uint32_t *order;                   /* indexes of the bins, by ascending priority per page */
    uint64_t *fast_upto;               /* fast pages of the bins order[0] to order[i], before any move */
};

void hm_bins_plan(struct hm_decider *decider, const struct hm_budget *budget);

#endif
