/* SPDX-License-Identifier: Apache-2.0 */
#include "purse.h"

#include <math.h>

#include "base/advance.h"

#define LEARN 0.5   /* weight of the latest measurement */
#define DECISIONS 2 /* times the cost of a decision that is saved before one is made: half of it is for the moves */
#define ENOUGH 64   /* pages: fewer say nothing about the cost of one */
#define FIRST_PAGE_S 20e-6 /* assumed CPU time for moving a page, until it is measured: a few times the usual one */

void hm_purse_init(struct hm_purse *purse, double share, unsigned n_cpus, double job_s)
{
    *purse = (struct hm_purse){
        .share = share, .n_cpus = n_cpus > 0 ? n_cpus : 1, .job_s = job_s, .used = 1, .left_s = INFINITY};
}

void hm_purse_set_left(struct hm_purse *purse, double left_s, double age_s)
{
    purse->used = age_s > 0 ? fmin(purse->ran_s / age_s, 1) : 1;
    purse->left_s = left_s < 0 ? INFINITY : left_s * purse->used;
}

void hm_purse_look(struct hm_purse *purse, double job_s, double spent_s)
{
    double used_s = fmax(job_s - purse->job_s, 0);
    purse->ran_s += used_s / purse->n_cpus;
    purse->earned_s += purse->share * used_s;
    purse->saved_s += purse->share * used_s - (spent_s - purse->spent_s);
    purse->debt_s = fmax(purse->debt_s, -purse->saved_s);
    purse->job_s = fmax(job_s, purse->job_s);
    purse->spent_s = spent_s;
}

double hm_purse_has(const struct hm_purse *purse)
{
    return purse->saved_s + purse->share * purse->n_cpus * fmin(hm_advance_sum(purse->ran_s), purse->left_s);
}

double hm_purse_part(const struct hm_purse *purse, double share)
{
    return fmax(hm_purse_has(purse), 0) * share;
}

bool hm_purse_affords_decision(const struct hm_purse *purse)
{
    return hm_purse_has(purse) >= DECISIONS * purse->decision_s;
}

void hm_purse_learn_decision(struct hm_purse *purse, double seconds)
{
    if (seconds > 0)
        purse->decision_s = (1 - LEARN) * purse->decision_s + LEARN * seconds;
}

static double page_s(const struct hm_purse *purse)
{
    return purse->page_s > 0 ? purse->page_s : FIRST_PAGE_S;
}

void hm_purse_add_idle(struct hm_purse *purse, double passed_s, uint64_t pages)
{
    double idle_s = (passed_s - (purse->ran_s - purse->idle_from_s)) * purse->n_cpus;
    double lacking_s = (double)pages * page_s(purse) - fmax(purse->saved_s, 0), most_s = purse->share * idle_s;
    purse->idle_from_s = purse->ran_s;
    if (pages == 0 || !(lacking_s > 0) || !(most_s > 0))
        return;
    purse->saved_s += fmin(lacking_s, most_s);
    purse->earned_s += fmin(lacking_s, most_s);
}

uint64_t hm_purse_pages(const struct hm_purse *purse, bool with_advance)
{
    double pages = (with_advance ? hm_purse_has(purse) : purse->saved_s) / page_s(purse);
    return pages >= 0x1p52 ? UINT64_MAX : pages > HM_PURSE_LEAST ? (uint64_t)pages : HM_PURSE_LEAST;
}

double hm_purse_cost(const struct hm_purse *purse, uint64_t pages)
{
    return (double)pages * page_s(purse);
}

void hm_purse_learn(struct hm_purse *purse, uint64_t pages, double seconds)
{
    if (pages < ENOUGH || !(seconds > 0))
        return;
    double before = (1 - LEARN) * purse->pages;
    purse->pages = before + (double)pages;
    purse->page_s = (before * purse->page_s + seconds) / purse->pages;
}
