/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps account of what moves have gained, beside pages that had stayed where they were: the samples of each phase on
 * promoted pages count for the moves, those on demoted pages against them, and so do the costs. Heat that comes and
 * goes as slowly as the estimate follows it makes gains come true for a phase (trust.h), and then turn into losses.
 * Where the account shows a loss, pages may only go back. Where pages have been for long is where they are: a placement
 * that gained once does not pay for what is lost later, elsewhere. For the decision code.
 *
 * In each phase: hm_account_see, hm_account_check, then any number of plans, of which the last one is carried out.
 */
#ifndef HM_MIGRATOR_DECIDE_ACCOUNT_H
#define HM_MIGRATOR_DECIDE_ACCOUNT_H

#include "cells.h"

/* A span of which this part of the pages is in a faster tier than it would be without moves; negative: a slower one. */
struct hm_lifted {
    uint64_t first, n_pages;
    double part;
    double planned;        /* how much of `part` the last plan has added */
    double seen, variance; /* weighted samples of this phase in the span, and their variance */
};

struct hm_account {
    /* Before the plan of this phase, and after it: disjoint, by ascending page, none with a part of 0. Room for `room`
     * each. */
    struct hm_lifted *span, *planned;
    size_t n, n_planned, room;
    bool has_plan;
    double cost;    /* of its moves, in weighted samples */
    double missed;  /* what moves would have gained in this phase, where they are not made; else 0 */
    double gained;  /* weighted samples that went to faster tiers by moves, less the costs; older phases weigh less */
    double noise;   /* variance of `gained` */
    double all;     /* all weighted samples, summed in the same way */
    double pending; /* costs of moves that are not in `gained` yet, in weighted samples */
};

/*
 * Takes the last plan for carried out before the phase that ends, and reads the samples of that phase. Call it before
 * they age. `missed`: what a trial shows that moves would have gained, in weighted samples. It counts where pages may
 * only go back: gains in part, so that moves are tried again once they would have gained for long enough, and losses in
 * full.
 */
void hm_account_see(struct hm_account *account, const struct hm_cells *cells, double missed);
/*
 * Adds the samples, and a part of the costs, to the account: hm_account_begin, then hm_account_check for all spans by
 * ascending page, then hm_account_add. `slow` and `fast` are the parts of the span's pages that are in slower and
 * faster tiers than the first and the last one: no more of them can have been lifted, and moves that were planned and
 * not carried out do not count.
 */
void hm_account_begin(struct hm_account *account);
void hm_account_check(struct hm_account *account, uint64_t first, uint64_t n_pages, double slow, double fast);
void hm_account_add(struct hm_account *account);
/* Is it certain that the moves have lost more than a small share of all that there was to lose? */
bool hm_account_is_lost(const struct hm_account *account);
/* The part of a span's pages that moves have lifted before the plan of this phase, -1..1. */
double hm_account_lifted(const struct hm_account *account, uint64_t first, uint64_t n_pages);
/*
 * Notes the moves of a plan, instead of another plan of the same phase: hm_account_begin, then hm_account_lift for all
 * spans by ascending page, then hm_account_end with the costs in weighted samples. `lifted` is the part of the span's
 * pages that the plan lifts.
 */
void hm_account_lift(struct hm_account *account, uint64_t first, uint64_t n_pages, double lifted);
void hm_account_end(struct hm_account *account, double cost);
/* Forgets the pages of these spans, which are ascending and apart from each other. */
void hm_account_forget(struct hm_account *account, const struct hm_gone *gone, size_t n);

#endif
