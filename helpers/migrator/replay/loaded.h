/* SPDX-License-Identifier: Apache-2.0 */
/* What the accesses of a replay cost under load, phase by phase. */
#ifndef HM_MIGRATOR_REPLAY_LOADED_H
#define HM_MIGRATOR_REPLAY_LOADED_H

#include "base/pagesize.h"
#include "migrator/decide/loadshare.h"
#include "replay.h"

#define HM_LINES_PER_PAGE (HM_TRACE_PAGE / HM_LINE_BYTES) /* the number of accesses to read or write a page */

struct hm_loaded_tier {
    double lines, ns; /* accesses that the tier served, and the sum of their latencies */
};

struct hm_loaded {
    double cost_ns;     /* the latencies of all accesses and of the lines that moved */
    double moved_lines; /* of moves since the last phase; each is read from one tier and written to the other */
    struct hm_loaded_tier fast, slow;
    struct hm_load_latencies last_ns; /* of the last phase */
    struct hm_loadshare seen;
};

/* The traffic in GB/s of so many lines in a phase. */
double hm_loaded_traffic(const struct hm_replay_options *options, double lines);
/* Adds a phase: how many accesses each tier serves. The moves since the last phase share the phase's time. */
void hm_loaded_serve(struct hm_loaded *loaded, const struct hm_replay_options *options, double fast, double slow);
/* The cost in accesses to the fast tier without load. */
double hm_loaded_cost(const struct hm_loaded *loaded, const struct hm_replay_options *options);
/* Sets what a move costs the decision code, by the latencies without load. Gains come with each phase's share. */
void hm_loaded_prices(const struct hm_replay_options *options, struct hm_decider_options *decider);
/* The mean latency in ns; NaN if the tier served nothing. */
double hm_loaded_mean(const struct hm_loaded_tier *tier);
/* Sets what the decision code is told at the end of a phase: the latencies of the phase, and its share of the heat
 * (loadshare.h), which the budget then names. */
void hm_loaded_tell(const struct hm_loaded *loaded, const struct hm_replay_options *options,
                    struct hm_heat_share *share, struct hm_budget *budget);

#endif
