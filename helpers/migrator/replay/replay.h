/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trace. The memory accesses of each phase are served from where the pages were before that phase; a page
 * that is new in the phase is in the fast tier if that has room. Under load, where the fast tier could hold more than
 * its share of the pages, the new ones begin in both tiers. The decision code sees samples of the phases so far.
 */
#ifndef HM_MIGRATOR_REPLAY_REPLAY_H
#define HM_MIGRATOR_REPLAY_REPLAY_H

#include "core/load/balance.h"
#include "migrator/decide/decide.h"
#include "trace.h"

#define HM_REPLAY_BINS 1000 /* default of max_extents */

/* What is sampled: all loads and stores (RAW), or those of them that reach memory, as no cache serves them (MEM). */
enum hm_sampled { HM_SAMPLED_RAW, HM_SAMPLED_MEM };

struct hm_replay_options {
    double fast;           /* share of the pages ever touched, 0..1: capacity = floor(pages * fast) */
    const char *algorithm; /* a name from hm_replay_algorithm_at() */
    double period;         /* accesses that one sample stands for, at least 1 */
    enum hm_sampled sampled;
    unsigned max_extents;               /* the key `bins` */
    double latency_read, latency_write; /* of the slow tier; the fast tier's is 1 */
    uint64_t seed;
    /* Latencies that depend on the traffic of the phase (lines of 64 bytes, those of moves too), instead of the two
     * above. NULL: none. */
    const struct hm_load *load;
    double phase_s; /* seconds that each phase takes; for `load` */
};

/* A placement's score over the whole trace. */
struct hm_score {
    /*
     * Mean cost of an access to memory, in accesses to the fast tier: the costs of all accesses and moves, divided by
     * the number of accesses. In the fast tier an access costs 1, in the slow tier latency_read or latency_write; a
     * page costs 64 * (latency_read + 1) to promote, and 64 * (1 + latency_write) to demote. Under load an access costs
     * the latency that its tier has in the phase, divided by that of the fast tier without load; so does each of the 64
     * lines that a move reads from one tier and writes to the other.
     */
    double amat;
    double share_mem;           /* share of accesses to memory that the fast tier served, 0..1 */
    double share_raw;           /* share of loads and stores to pages in the fast tier, 0..1 */
    double slow_writes;         /* share of writes to memory that went to the slow tier, 0..1 */
    uint64_t promoted, demoted; /* pages */
    double fast_ns, slow_ns;    /* under load, the mean latency of the accesses that each tier served; else NaN */
};

struct hm_replay_result {
    struct hm_score ours; /* of the decision code's placement */
    uint64_t samples;
    double decide_s;     /* CPU time of the decision code */
    uint64_t peak_bytes; /* memory of the decision code */
};

/*
 * Called at the end of each phase, when the moves are planned but not carried out: with the extents and their verdicts,
 * the placement in this phase (`is_fast` by page index), and the moves. May be NULL.
 */
typedef void hm_replay_watch(void *data, size_t phase, const struct hm_extent *extents, size_t n_extents,
                             const bool *is_fast, const struct hm_move *moves, size_t n_moves);

/* The fast tier's capacity in pages: this share of the pages ever touched, rounded down; exact for whole percents. */
uint64_t hm_replay_capacity(const struct hm_trace *trace, double fast);

/*
 * Replays the trace. The result, except `decide_s`, depends on nothing but the trace and the options. Returns 0, or -1
 * (EINVAL: an option; ENOMEM).
 */
int hm_replay_run(const struct hm_trace *trace, const struct hm_replay_options *options, hm_replay_watch *watch,
                  void *data, struct hm_replay_result *result, struct hm_error *error);

/*
 * The score of the trace without sampling, if pages fill the fast tier in the order of their first phase, then
 * address. Uses only `fast` and the latencies or the load of the options, as the oracles below do. Returns 0, or -1
 * (ENOMEM).
 */
int hm_replay_first_touch(const struct hm_trace *trace, const struct hm_replay_options *options,
                          struct hm_score *score);
/* The same for the best placement that never moves: the pages with most accesses to memory are in the fast tier. */
int hm_replay_static_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                            struct hm_score *score);
/*
 * The same for the best placement of each phase, by the accesses of that phase, with the cost of its moves. Of equally
 * hot pages, those that are in the fast tier stay there, then the lower address comes first.
 */
int hm_replay_phase_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                           struct hm_score *score);

/*
 * The same for the least that the accesses can cost under load: in each phase the fast tier serves the share of them
 * that costs least (hm_load_best), at most as many as its capacity in the phase's hottest pages has; a page may be
 * there in part. Moves are not charged, and none is counted; what this does not tell of a score is NaN. The options
 * have a load.
 */
int hm_replay_balanced(const struct hm_trace *trace, const struct hm_replay_options *options, struct hm_score *score);

#endif
