/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The purse: the migrator's budget of CPU time. It earns a share of what the step's processes use, spends what it uses
 * itself, and saves the rest. What a phase may cost follows from the savings.
 *
 * What is learned early is of use for longest, so the purse may also be in debt, up to an advance (base/advance.h): for
 * decisions, and for moves that are expected to pay (reckon.h). When the job has run for
 * `ran` seconds of all its CPUs (CPU time divided by their number), and will run for `left` more until its time limit
 * if it goes on using them as before, so much may have been spent:
 *
 *       share * n_cpus * (ran + least of hm_advance_sum(ran) and left)
 *
 * This is less than twice the share at any time, and from 504 s on no more than the share. What a decision and a page
 * cost is known only afterwards, and may exceed it. Pure.
 */
#ifndef HM_MIGRATOR_LIVE_PURSE_H
#define HM_MIGRATOR_LIVE_PURSE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PURSE_LEAST 512 /* pages that may be moved in any phase, so that there is progress: 2 MiB or more */

struct hm_purse {
    double share;          /* share of the job's CPU time that is earned */
    unsigned n_cpus;       /* of the job */
    double ran_s;          /* the job's CPU time so far, divided by n_cpus */
    double used;           /* which part of its CPUs' time the job has used, 0..1; 1: not known */
    double left_s;         /* CPU time that it is expected to use yet, divided by n_cpus; INFINITY: not known */
    double earned_s;       /* CPU seconds that were earned so far */
    double saved_s;        /* earned and not spent, in seconds; negative: in debt */
    double debt_s;         /* the largest debt so far */
    double job_s, spent_s; /* CPU time of the job and of the migrator at the last look */
    double page_s;         /* measured CPU time for moving one page; 0: not measured yet */
    double pages;          /* that page_s stands for: all that were moved, the earlier the less they count */
    double decision_s;     /* measured CPU time of one decision without moving; 0: not measured yet */
    double idle_from_s;    /* ran_s at the last hm_purse_add_idle() */
};

/* Begins to earn `share` of the CPU time that the job uses beyond `job_s` on `n_cpus` CPUs. */
void hm_purse_init(struct hm_purse *purse, double share, unsigned n_cpus, double job_s);
/*
 * Enters the CPU seconds of the job and of the migrator so far. If the job's sum shrinks, as it could not be read or
 * processes have ended, nothing is earned until it has grown beyond what it was.
 */
void hm_purse_look(struct hm_purse *purse, double job_s, double spent_s);
/*
 * Sets `used`, and how long the job can run yet: `left_s` seconds by the clock (negative: not known), in which it is
 * expected to use its CPUs as it has in the `age_s` seconds by the clock so far.
 */
void hm_purse_set_left(struct hm_purse *purse, double left_s, double age_s);
/* What may be spent now: the savings and the advance. Negative: more was spent than that. */
double hm_purse_has(const struct hm_purse *purse);
/*
 * Adds what the savings lack for moving `pages`, without a debt that there is, but no more than the share of the time
 * that the job's CPUs were idle in the `passed_s` seconds since the last call: a job that hardly runs earns nothing,
 * and its CPUs are free.
 */
void hm_purse_add_idle(struct hm_purse *purse, double passed_s, uint64_t pages);
/* CPU seconds that an activity may take if it is given `share` of what there is; 0 if there is nothing. */
double hm_purse_part(const struct hm_purse *purse, double share);
/* Is there enough for one decision, and as much for its moves? */
bool hm_purse_affords_decision(const struct hm_purse *purse);
/* Learns the CPU time of a decision, without moving. The first one counts half, as it also reads the mappings that have
 * come since the step began. */
void hm_purse_learn_decision(struct hm_purse *purse, double seconds);
/* How many pages may be moved now, by the savings alone or with the advance: at least HM_PURSE_LEAST. Until the cost of
 * a page was measured, it is assumed. */
uint64_t hm_purse_pages(const struct hm_purse *purse, bool with_advance);
/* CPU seconds of moving `pages`, by what was measured, or as it is assumed. */
double hm_purse_cost(const struct hm_purse *purse, uint64_t pages);
/* Learns that moving `pages` took `seconds` of CPU time. The pages of a call count half as much as those of the next:
 * a few pages tell less than many, as moving them at all takes as long as some. Too small numbers are ignored. */
void hm_purse_learn(struct hm_purse *purse, uint64_t pages, double seconds);

#endif
