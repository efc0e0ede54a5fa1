/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The purse: the migrator's budget of CPU time. It earns a share of what the step's processes use, spends what it uses
 * itself, and saves the rest. What a phase may cost follows from the savings. With an advance (base/advance.h) it
 * earns more at first, and less afterwards. Pure.
 */
#ifndef HM_MIGRATOR_LIVE_PURSE_H
#define HM_MIGRATOR_LIVE_PURSE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PURSE_LEAST 512 /* pages that may be moved in any phase, so that there is progress: 2 MiB or more */

struct hm_purse {
    double share;    /* share of the job's CPU time that is earned */
    unsigned n_cpus; /* of the job */
    double ran_s;    /* how long the job has run, if it kept all its CPUs busy: its CPU time divided by them */
    bool has_advance;
    double owed_s;         /* of the advance, what is not paid back */
    double saved_s;        /* earned and not spent, in seconds; negative: in debt */
    double job_s, spent_s; /* CPU time of the job and of the migrator at the last look */
    double page_s;         /* measured CPU time for moving one page; 0: not measured yet */
    double decision_s;     /* measured CPU time of one decision without moving; 0: not measured yet */
    double idle_from_s;    /* ran_s at the last hm_purse_add_idle() */
};

/* Begins to earn `share` of the CPU time that the job uses beyond `job_s` on `n_cpus` CPUs. */
void hm_purse_init(struct hm_purse *purse, double share, unsigned n_cpus, double job_s);
/*
 * Enters the CPU seconds of the job and of the migrator so far. If the job's sum shrinks, as processes have ended,
 * nothing is earned.
 */
void hm_purse_look(struct hm_purse *purse, double job_s, double spent_s);
/* There is an advance from now on, and for the time since the beginning. */
void hm_purse_take_advance(struct hm_purse *purse);
/*
 * Adds what the savings lack for moving `pages`, but no more than the share of the time that the job's CPUs were idle
 * in the `passed_s` seconds since the last call: a job that hardly runs earns nothing, and its CPUs are free.
 */
void hm_purse_add_idle(struct hm_purse *purse, double passed_s, uint64_t pages);
/* CPU seconds that an activity may take if it is given `share` of the savings; 0 in debt. */
double hm_purse_part(const struct hm_purse *purse, double share);
/* Is there enough for one decision, and as much for its moves? */
bool hm_purse_affords_decision(const struct hm_purse *purse);
/* Learns the CPU time of a decision, without moving. */
void hm_purse_learn_decision(struct hm_purse *purse, double seconds);
/* How many pages may be moved now: at least HM_PURSE_LEAST. Until the cost of a page was measured, it is assumed. */
uint64_t hm_purse_pages(const struct hm_purse *purse);
/* Learns that moving `pages` took `seconds` of CPU time. Too small numbers of pages are ignored. */
void hm_purse_learn(struct hm_purse *purse, uint64_t pages, double seconds);

#endif
