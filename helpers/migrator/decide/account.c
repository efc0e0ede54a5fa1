/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

#include <math.h>

#include "base/amount.h"

#define FADE 0.98   /* weight that old sums keep at each phase: those of some fifty phases count */
#define LOSS 0.01   /* share of all weighted samples that may be lost */
#define CERTAIN 2   /* standard errors by which a loss must exceed that */
#define CREDIT 0.25 /* share of what moves would have gained that counts while none is made */
#define LEAST 0.01  /* a smaller part is none */

static uint64_t end_of(const struct hm_lifted *span)
{
    return HM_PAGE_END(span->first, span->n_pages);
}

/* Takes the plan for carried out. */
static void settle(struct hm_account *account)
{
    struct hm_lifted *before = account->span;
    if (!account->has_plan)
        return;
    account->span = account->planned;
    account->n = account->n_planned;
    account->planned = before;
    account->pending += account->cost;
    account->has_plan = false;
}

void hm_account_see(struct hm_account *account, const struct hm_cells *cells, double missed)
{
    bool is_lost = hm_account_is_lost(account);
    settle(account);
    double variance, charge = account->pending / HM_PLACEMENT_PHASES;
    account->gained = account->gained * FADE - charge;
    account->pending -= charge;
    account->noise *= FADE * FADE;
    for (size_t i = 0; i < account->n; i++) {
        const struct hm_lifted *span = &account->span[i];
        account->gained += span->part * hm_cells_new_in(cells, span->first, end_of(span), &variance);
        account->noise += span->part * span->part * variance;
    }
    if (is_lost)
        account->gained = fmin(account->gained + (missed > 0 ? CREDIT : 1) * missed, fmax(account->gained, 0));
    account->all = account->all * FADE + hm_cells_new_in(cells, 0, UINT64_MAX, &variance);
}

bool hm_account_is_lost(const struct hm_account *account)
{
    return account->gained + CERTAIN * sqrt(account->noise) < -LOSS * account->all;
}

/* The first span that ends after the page. */
static size_t find(const struct hm_account *account, uint64_t page)
{
    size_t low = 0, high = account->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&account->span[middle]) <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double hm_account_lifted(const struct hm_account *account, uint64_t first, uint64_t n_pages)
{
    double sum = 0;
    uint64_t end = HM_PAGE_END(first, n_pages);
    for (size_t i = find(account, first); i < account->n && account->span[i].first < end; i++) {
        const struct hm_lifted *span = &account->span[i];
        uint64_t from = span->first > first ? span->first : first;
        sum += span->part * (double)(hm_least(end_of(span), end) - from);
    }
    return sum / (double)n_pages;
}

/* Joins neighbours, each two, so that half of the room is free. */
static void coarsen(struct hm_account *account)
{
    size_t kept = 0;
    for (size_t i = 0; i < account->n_planned; i += 2) {
        struct hm_lifted joined = account->planned[i];
        if (i + 1 < account->n_planned) {
            const struct hm_lifted *next = &account->planned[i + 1];
            uint64_t pages = end_of(next) - joined.first;
            double sum = joined.part * (double)joined.n_pages + next->part * (double)next->n_pages;
            joined = (struct hm_lifted){joined.first, pages, sum / (double)pages};
        }
        account->planned[kept++] = joined;
    }
    account->n_planned = kept;
}

static void put(struct hm_account *account, uint64_t first, uint64_t end, double part)
{
    if (first >= end || fabs(part) < LEAST)
        return;
    struct hm_lifted *last = account->n_planned > 0 ? &account->planned[account->n_planned - 1] : NULL;
    if (last && end_of(last) == first && fabs(last->part - part) < LEAST) {
        last->n_pages += end - first;
        return;
    }
    if (account->n_planned == account->room)
        coarsen(account);
    account->planned[account->n_planned++] = (struct hm_lifted){first, end - first, part};
}

static double limited(double part, double least, double most)
{
    return fmin(fmax(part, least), most);
}

void hm_account_begin(struct hm_account *account)
{
    account->n_planned = 0;
}

void hm_account_lift(struct hm_account *account, uint64_t first, uint64_t n_pages, double slow, double fast,
                     double lifted)
{
    uint64_t at = first, end = HM_PAGE_END(first, n_pages);
    for (size_t i = find(account, first); i < account->n && account->span[i].first < end; i++) {
        const struct hm_lifted *span = &account->span[i];
        uint64_t from = span->first > at ? span->first : at, to = hm_least(end_of(span), end);
        put(account, at, from, limited(lifted, -1, 1));
        put(account, from, to, limited(limited(span->part, -slow, fast) + lifted, -1, 1));
        at = to;
    }
    put(account, at, end, limited(lifted, -1, 1));
}

void hm_account_end(struct hm_account *account, double cost)
{
    account->has_plan = true;
    account->cost = cost;
}

void hm_account_forget(struct hm_account *account, uint64_t first, uint64_t end)
{
    settle(account);
    hm_account_begin(account);
    for (size_t i = 0; i < account->n; i++) {
        const struct hm_lifted *span = &account->span[i];
        put(account, span->first, hm_least(end_of(span), first), span->part);
        put(account, span->first > end ? span->first : end, end_of(span), span->part);
    }
    hm_account_end(account, 0);
}
