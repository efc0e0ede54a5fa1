/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trace. The memory accesses of each phase are served from where the pages were before that phase; a page
 * that is new in the phase is in the fastest tier that has room. Under load, where the fast tier could hold more than
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

struct hm_replay_tier {
    char name[HM_NAME];
    double share; /* of the pages ever touched, 0..1: capacity = floor(pages * share); the last tier has room for all */
    double read, write; /* what an access costs, in reads from the first tier; no less than in the tier before */
    bool has_rest;      /* for tiertext.h: it is the last */
};

struct hm_replay_options {
    unsigned n_tiers; /* 2 to HM_MAX_TIERS, fastest first */
    struct hm_replay_tier tier[HM_MAX_TIERS];
    double unit_ns;        /* what a read from the first tier takes; 0 if nobody has said it */
    const char *algorithm; /* a name from hm_replay_algorithm_at() */
    double period;         /* accesses that one sample stands for, at least 1 */
    enum hm_sampled sampled;
    unsigned max_extents; /* the key `bins` */
    uint64_t seed;
    /* Latencies that depend on the traffic of the phase (lines of 64 bytes, those of moves too), instead of those of
     * the tiers, which are two. NULL: none. */
    const struct hm_load *load;
    double phase_s; /* seconds that each phase takes; for `load` */
};

/* A placement's score over the whole trace. */
struct hm_score {
    /*
     * Mean cost of an access to memory, in reads from the first tier: the costs of all accesses and moves, divided by
     * the number of accesses. A page costs 64 * (a read from its tier + a write to the other) to move. Under load an
     * access costs the latency that its tier has in the phase, divided by that of the fast tier without load; so does
     * each of the 64 lines that a move reads from one tier and writes to the other.
     */
    double amat;
    double share_mem;           /* share of accesses to memory that the first tier served, 0..1 */
    double share_raw;           /* share of loads and stores to pages in the first tier, 0..1 */
    double slow_writes;         /* share of writes to memory that went to the last tier, 0..1 */
    uint64_t promoted, demoted; /* pages, by any number of steps */
    /* By tier: its share of the accesses to memory, and of the writes to memory. */
    double tier_mem[HM_MAX_TIERS], tier_writes[HM_MAX_TIERS];
    uint64_t moved[HM_MAX_TIERS][HM_MAX_TIERS]; /* pages, [from][to] */
    double fast_ns, slow_ns; /* under load, the mean latency of the accesses that each tier served; else NaN */
};

struct hm_replay_result {
    struct hm_score ours; /* of the decision code's placement */
    uint64_t samples;
    double decide_s;     /* CPU time of the decision code */
    uint64_t peak_bytes; /* memory of the decision code */
};

/*
 * Called at the end of each phase, when the moves are planned but not carried out: with the extents and their verdicts,
 * the placement in this phase (`tier` by page index), and the moves. May be NULL.
 */
typedef void hm_replay_watch(void *data, size_t phase, const struct hm_extent *extents, size_t n_extents,
                             const uint8_t *tier, const struct hm_move *moves, size_t n_moves);

/* A tier's capacity in pages: this share of the pages ever touched, rounded down; exact for whole percents. */
uint64_t hm_replay_capacity(const struct hm_trace *trace, double share);

/*
 * Replays the trace. The result, except `decide_s`, depends on nothing but the trace and the options. Returns 0, or -1
 * (EINVAL: an option; ENOMEM).
 */
int hm_replay_run(const struct hm_trace *trace, const struct hm_replay_options *options, hm_replay_watch *watch,
                  void *data, struct hm_replay_result *result, struct hm_error *error);

/*
 * The score of the trace without sampling, if pages fill the tiers, fastest first, in the order of their first phase,
 * then address. Uses only the tiers or the load of the options, as the oracles below do. Returns 0, or -1 (ENOMEM).
 */
int hm_replay_first_touch(const struct hm_trace *trace, const struct hm_replay_options *options,
                          struct hm_score *score);
/* The same for a placement that never moves: the pages with most accesses to memory fill the tiers, fastest first. */
int hm_replay_static_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                            struct hm_score *score);
/*
 * The same for the placement that costs least of all that never move, up to rounding (transport.h). It is below the one
 * before where reads and writes do not cost the same.
 */
int hm_replay_least_cost(const struct hm_trace *trace, const struct hm_replay_options *options, struct hm_score *score);
/*
 * The same if in each phase the pages with most accesses in that phase fill the tiers, with the cost of the moves. Of
 * equally hot pages, those that are in a faster tier stay there, then the lower address comes first.
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
