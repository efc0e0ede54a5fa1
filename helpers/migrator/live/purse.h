/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The migrator's CPU time: a share of what the step's processes use is earned, what it uses itself is spent, the rest
 * is saved up. What a phase may cost follows from that. Pure.
 */
#ifndef HM_MIGRATOR_LIVE_PURSE_H
#define HM_MIGRATOR_LIVE_PURSE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PURSE_LEAST 512 /* pages that are moved in any phase, so that there is progress: a huge page fits */

struct hm_purse {
    double share;          /* of the job's CPU time */
    double saved_s;        /* earned and not spent; negative: in debt */
    double job_s, spent_s; /* CPU time up to the last look */
    double page_s;         /* of moving one page, as measured; 0: not yet */
    double decision_s;     /* of one decision without moving, as measured; 0: not yet */
};

/* `share` of what the job uses beyond `job_s`, CPU seconds so far, is earned from now on. */
void hm_purse_init(struct hm_purse *purse, double share, double job_s);
/* CPU seconds so far, of the job and of the migrator. A sum that shrinks (processes have ended) earns nothing. */
void hm_purse_look(struct hm_purse *purse, double job_s, double spent_s);
/* Seconds that a part may take that has this share of what is saved; 0 in debt. */
double hm_purse_part(const struct hm_purse *purse, double share);
/* Is there enough for a decision, and three times as much for what it moves? */
bool hm_purse_affords_decision(const struct hm_purse *purse);
/* A decision took so much CPU time, without moving. */
void hm_purse_learn_decision(struct hm_purse *purse, double seconds);
/* Pages that may be moved now: HM_PURSE_LEAST until the cost of one was measured, and at least. */
uint64_t hm_purse_pages(const struct hm_purse *purse);
/* Moving so many pages took so much CPU time; too few to say anything are left out. */
void hm_purse_learn(struct hm_purse *purse, uint64_t pages, double seconds);

#endif
