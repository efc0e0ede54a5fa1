/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/search.h"

#define FADE 0.98    /* weight that old sums keep at each phase: those of some fifty phases count */
#define LOSS 0.01    /* share of all weighted samples that may be lost */
#define SAVED 0.03   /* most that is saved of gains, as such a share: more would pay for long losses */
#define CERTAIN 2    /* standard errors by which a loss must exceed that */
#define CREDIT 0.25  /* share of what moves would have gained that counts while none is made */
#define LEAST 0.01   /* a smaller part is none */
#define MOST_WIDER 2 /* a span that is so many times as wide as another tells nothing of its tiers */

static uint64_t end_of(const struct hm_lifted *span)
{
    return HM_PAGE_END(span->first, span->n_pages);
}

/* Makes the other list, which is complete, the present one. */
static void take(struct hm_account *account)
{
    struct hm_lifted *before = account->span;
    account->span = account->planned;
    account->n = account->n_planned;
    account->planned = before;
}

void hm_account_see(struct hm_account *account, const struct hm_cells *cells, double missed)
{
    double variance;
    account->missed = hm_account_is_lost(account) ? missed : 0;
    if (account->has_plan)
        take(account);
    account->has_plan = false;
    for (size_t i = 0; i < account->n; i++) {
        struct hm_lifted *span = &account->span[i];
        span->seen = hm_cells_new_in(cells, span->first, end_of(span), &span->variance);
    }
    account->all = account->all * FADE + hm_cells_new_in(cells, 0, UINT64_MAX, &variance);
}

bool hm_account_is_lost(const struct hm_account *account)
{
    return account->gained + CERTAIN * sqrt(account->noise) < -LOSS * account->all;
}

/* The first span that ends after the page. */
static size_t find(const struct hm_account *account, uint64_t page)
{
    size_t i = HM_SEARCH_UPTO(account->span, account->n, first, page);
    return i > 0 && end_of(&account->span[i - 1]) > page ? i - 1 : i;
}

/* The part of a span from page `first` to `end` - 1. */
static struct hm_lifted part_of(const struct hm_lifted *span, uint64_t first, uint64_t end)
{
    struct hm_lifted part = *span;
    part.first = first > span->first ? first : span->first;
    part.n_pages = hm_less(hm_least(end_of(span), end), part.first);
    double share = (double)part.n_pages / (double)span->n_pages;
    part.seen *= share;
    part.variance *= share;
    return part;
}

double hm_account_lifted(const struct hm_account *account, uint64_t first, uint64_t n_pages)
{
    double sum = 0;
    uint64_t end = HM_PAGE_END(first, n_pages);
    for (size_t i = find(account, first); i < account->n && account->span[i].first < end; i++) {
        struct hm_lifted part = part_of(&account->span[i], first, end);
        sum += part.part * (double)part.n_pages;
    }
    return sum / (double)n_pages;
}

/* Extends a span to the end of the next one, with as much of both in all. */
static void join(struct hm_lifted *span, const struct hm_lifted *next)
{
    uint64_t pages = end_of(next) - span->first;
    double before = (double)span->n_pages / (double)pages, after = (double)next->n_pages / (double)pages;
    span->part = span->part * before + next->part * after;
    span->planned = span->planned * before + next->planned * after;
    span->seen += next->seen;
    span->variance += next->variance;
    span->n_pages = pages;
}

/* Joins neighbours, each two, so that half of the room is free. */
static void coarsen(struct hm_account *account)
{
    size_t kept = 0;
    for (size_t i = 0; i < account->n_planned; i += 2) {
        struct hm_lifted joined = account->planned[i];
        if (i + 1 < account->n_planned)
            join(&joined, &account->planned[i + 1]);
        account->planned[kept++] = joined;
    }
    account->n_planned = kept;
}

static void put(struct hm_account *account, const struct hm_lifted *span)
{
    if (span->n_pages == 0 || (fabs(span->part) < LEAST && fabs(span->planned) < LEAST))
        return;
    struct hm_lifted *last = account->n_planned > 0 ? &account->planned[account->n_planned - 1] : NULL;
    if (last && end_of(last) == span->first && fabs(last->part - span->part) < LEAST &&
        fabs(last->planned - span->planned) < LEAST) {
        join(last, span);
        return;
    }
    if (account->n_planned == account->room)
        coarsen(account);
    account->planned[account->n_planned++] = *span;
}

static double limited(double part, double least, double most)
{
    return fmin(fmax(part, least), most);
}

void hm_account_begin(struct hm_account *account)
{
    account->n_planned = 0;
}

void hm_account_check(struct hm_account *account, uint64_t first, uint64_t n_pages, double slow, double fast)
{
    uint64_t end = HM_PAGE_END(first, n_pages);
    for (size_t i = find(account, first); i < account->n && account->span[i].first < end; i++) {
        struct hm_lifted part = part_of(&account->span[i], first, end);
        double was = part.part;
        if (n_pages / MOST_WIDER <= part.n_pages)
            part.part = limited(was, -slow, fast);
        /* what is missing was planned, and not carried out, as far as it can be so */
        part.planned -= limited(was - part.part, fmin(part.planned, 0), fmax(part.planned, 0));
        put(account, &part);
    }
}

/* How many pages the last plan has lifted or lowered, by a list of spans. */
static double planned_pages(const struct hm_lifted *span, size_t n)
{
    double pages = 0;
    for (size_t i = 0; i < n; i++)
        pages += fabs(span[i].planned) * (double)span[i].n_pages;
    return pages;
}

/* What was not moved makes no debt greater than what can be saved: else it would never be paid back. */
static void add_missed(struct hm_account *account)
{
    double least = fmin(account->gained, -SAVED * account->all);
    account->gained = fmax(account->gained + (account->missed > 0 ? CREDIT : 1) * account->missed, least);
}

void hm_account_add(struct hm_account *account)
{
    double planned = planned_pages(account->span, account->n);
    take(account);
    account->pending += planned > 0 ? account->cost * planned_pages(account->span, account->n) / planned : 0;
    double charge = account->pending / HM_PLACEMENT_PHASES;
    account->pending -= charge;
    account->gained = account->gained * FADE - charge;
    add_missed(account);
    account->noise *= FADE * FADE;
    for (size_t i = 0; i < account->n; i++) {
        struct hm_lifted *span = &account->span[i];
        account->gained += span->part * span->seen;
        account->noise += span->part * span->part * span->variance;
        span->part *= 1 - 1 / HM_PLACEMENT_PHASES;
        span->planned = 0;
    }
    account->gained = fmin(account->gained, SAVED * account->all);
}

void hm_account_lift(struct hm_account *account, uint64_t first, uint64_t n_pages, double lifted)
{
    uint64_t at = first, end = HM_PAGE_END(first, n_pages);
    for (size_t i = find(account, first); i < account->n && account->span[i].first < end; i++) {
        struct hm_lifted part = part_of(&account->span[i], first, end);
        double was = part.part;
        struct hm_lifted gap = {.first = at, .n_pages = part.first - at, .part = lifted, .planned = lifted};
        put(account, &gap);
        part.part = limited(was + lifted, -1, 1);
        part.planned = part.part - was;
        put(account, &part);
        at = end_of(&part);
    }
    struct hm_lifted rest = {.first = at, .n_pages = end - at, .part = lifted, .planned = lifted};
    put(account, &rest);
}

void hm_account_end(struct hm_account *account, double cost)
{
    account->has_plan = true;
    account->cost = cost;
}

/*
 * Takes pages out of a list of spans. Returns the new number. The list first makes room for the pieces that its spans
 * fall into: each span that is gone makes at most one more. Where there is not enough room, later pieces are lost.
 */
static size_t cut(struct hm_lifted *span, size_t n, size_t room, const struct hm_gone *gone, size_t n_gone)
{
    size_t kept = 0, next = 0, free = hm_least(room - n, n_gone);
    memmove(span + free, span, n * sizeof(*span));
    for (size_t i = free; i < free + n; i++) {
        struct hm_lifted whole = span[i];
        uint64_t at = whole.first, end = end_of(&whole);
        while (next < n_gone && HM_PAGE_END(gone[next].first, gone[next].n_pages) <= at)
            next++;
        for (size_t g = next; at < end; g++) {
            uint64_t stop = g < n_gone ? gone[g].first : end;
            struct hm_lifted piece = part_of(&whole, at, hm_most(stop, at));
            if (piece.n_pages > 0 && kept <= i)
                span[kept++] = piece;
            at = g < n_gone ? HM_PAGE_END(gone[g].first, gone[g].n_pages) : end;
        }
    }
    return kept;
}

void hm_account_forget(struct hm_account *account, const struct hm_gone *gone, size_t n)
{
    account->n = cut(account->span, account->n, account->room, gone, n);
    if (account->has_plan)
        account->n_planned = cut(account->planned, account->n_planned, account->room, gone, n);
}
