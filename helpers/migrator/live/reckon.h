/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reckoning: do moves pay for the CPU time that they cost? How much of its CPU time a program waits for memory is
 * not known, so the reckoning tells from which share on they pay. Pure.
 */
#ifndef HM_MIGRATOR_LIVE_RECKON_H
#define HM_MIGRATOR_LIVE_RECKON_H

#include "migrator/decide/decide.h"

/* What a program is taken to wait for memory, at least, as a share of its CPU time: tiers matter little to others. */
#define HM_RECKON_WAITS 0.1

/* Latencies of reads and writes by tier, as multiples of the fast tier's; the last tier is the slow one. */
struct hm_reckon_tiers {
    double read[HM_MAX_TIERS], write[HM_MAX_TIERS];
    unsigned n;
};

/*
 * By which part these moves make the waits for memory shorter, 0..1. The extents are by ascending page, with priorities
 * and tiers, as the plan has left them; the moves are of whole extents, and those for the cap are not for a gain. The
 * latency in a tier is that of the extent's reads and writes. A page with `priority` p, the extra cost while it is in
 * the slow tier, waits p * latency / (the slow tier's latency - 1).
 */
double hm_reckon_gain(const struct hm_extent *extents, size_t count, const struct hm_move *moves, size_t n_moves,
                      const struct hm_reckon_tiers *tiers);
/*
 * For how long a placement is expected to be of use: as long as the job runs yet (`left_s`; INFINITY: not known), but
 * no longer than it has run so far (`ran_s`), as nothing else is known of most jobs, nor longer than placements last
 * (HM_PLACEMENT_PHASES of `phase_s`). All of these are seconds of all the job's CPUs, as in purse.h: CPU time divided
 * by their number.
 */
double hm_reckon_use_s(double left_s, double ran_s, double phase_s);

#endif
