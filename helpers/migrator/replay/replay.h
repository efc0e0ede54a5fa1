/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaying a trace under a placement: the memory accesses of each phase are served by where the pages were put before
 * it. The decision code sees only samples of earlier phases.
 */
#ifndef HM_MIGRATOR_REPLAY_REPLAY_H
#define HM_MIGRATOR_REPLAY_REPLAY_H

#include "migrator/decide/decide.h"
#include "trace.h"

#define HM_REPLAY_BINS 1000 /* default of max_regions */

enum hm_sampled { HM_SAMPLED_RAW, HM_SAMPLED_MEM };

struct hm_replay_options {
    double fast; /* share of the pages ever touched, 0..1: capacity = floor(pages * fast) */
    const char *algorithm;
    double period; /* accesses per sample, at least 1 */
    enum hm_sampled sampled;
    unsigned max_regions;               /* `bins` */
    double latency_read, latency_write; /* of the slow tier, fast = 1 */
    uint64_t seed;
};

/* A placement's score over the whole trace. */
struct hm_score {
    double amat;        /* (reads * (1 | lat_read) + writes * (1 | lat_write) + 64 * (lat_read + 1) per page promoted +
                           64 * (1 + lat_write) per page demoted) / accesses to memory */
    double share_mem;   /* accesses to memory that the fast tier served, 0..1 */
    double share_raw;   /* loads and stores to pages in the fast tier, 0..1 */
    double slow_writes; /* writes to memory that went to the slow tier, 0..1 of all writes to memory */
    uint64_t promoted, demoted; /* pages */
};

struct hm_replay_result {
    struct hm_score ours;
    uint64_t samples;
    double decide_s;     /* CPU time of the decision code */
    uint64_t peak_bytes; /* of the decision code */
};

/*
 * Called at the end of each phase, after the plan and before it is carried out: regions with verdicts, the placement
 * that served the phase (`is_fast` by page index), the moves. May be NULL.
 */
typedef void hm_replay_watch(void *data, size_t phase, const struct hm_region *regions, size_t n_regions,
                             const bool *is_fast, const struct hm_move *moves, size_t n_moves);

/* Pages of the fast tier: that share of the pages ever touched, rounded down, exact for shares in whole percent. */
uint64_t hm_replay_capacity(const struct hm_trace *trace, double fast);

/* Returns 0, or -1 (EINVAL: an option; ENOMEM). Deterministic for a seed. */
int hm_replay_run(const struct hm_trace *trace, const struct hm_replay_options *options, hm_replay_watch *watch,
                  void *data, struct hm_replay_result *result, struct hm_error *error);

/* What the same trace gives without sampling: pages in the order of phase, then address, fill the fast tier; the best
 * placement that never moves; the best one per phase, its moves charged, ties keeping the resident page, then taking
 * the lower address. Return 0, or -1 (ENOMEM). Only fast and the latencies of the options count. */
int hm_replay_first_touch(const struct hm_trace *trace, const struct hm_replay_options *options,
                          struct hm_score *score);
int hm_replay_static_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                            struct hm_score *score);
int hm_replay_phase_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                           struct hm_score *score);

#endif
