/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a phase: plans moves by heat, carries them out, and sums up the result. */
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "live.h"

#define LOOK_SHARE 0.1        /* share of the purse's CPU time that may be spent on looking up where pages are */
#define LOOK_S 20e-6          /* assumed CPU time of one look, until it is measured: many times the usual one */
#define LOOKS_MOST 262144     /* most looks in one phase */
#define PHASES_TO_GIVE_BACK 4 /* a phase demotes this part of what the step has above its share, paid for or not */
#define MANY_UNMOVABLE 0.1    /* a larger share of accesses to memory that cannot be moved causes a warning */

struct end { /* what is known at the end of one phase */
    struct hm_extent *extent;
    size_t n_extents, n_gaps;
    uint64_t used_pages;     /* the step's pages in the fast tier */
    uint64_t gap_pages;      /* the part of used_pages that is in no extent */
    uint64_t capacity_pages; /* most pages of the step in the fast tier */
};

static void sum_up(const struct hm_extent *extents, size_t count, uint64_t pages[2])
{
    for (size_t i = 0; i < count; i++) {
        pages[0] += extents[i].fast_pages;
        pages[1] += extents[i].slow_pages;
    }
}

/* Looks up in which tier extents and gaps are, with as many looks as the overhead allows at their measured cost. */
static void fill(struct hm_live *live, struct end *end)
{
    double budget_s = hm_purse_part(&live->account.purse, LOOK_SHARE), start_s = hm_live_thread_s();
    double looks = budget_s / (live->account.look_s > 0 ? live->account.look_s : LOOK_S);
    size_t n = looks < LOOKS_MOST ? (size_t)looks : LOOKS_MOST;
    size_t done = hm_residence_fill(&live->residence, end->extent, end->n_extents, n - n / 4);
    end->n_gaps = hm_residence_gaps(&live->residence, end->extent, end->n_extents, live->gaps, HM_LIVE_GAPS);
    done += hm_residence_fill(&live->residence, live->gaps, end->n_gaps, n / 4);
    if (done > 0)
        live->account.look_s = (hm_live_thread_s() - start_s) / (double)done;
}

/* Finds out how much memory is where, and how much the fast tier may hold. */
static void look_at_memory(struct hm_live *live, struct end *end)
{
    uint64_t in_extents[2] = {0}, in_gaps[2] = {0}, bytes[2];
    fill(live, end);
    sum_up(end->extent, end->n_extents, in_extents);
    sum_up(live->gaps, end->n_gaps, in_gaps);
    if (!hm_live_read_usage(live, bytes))
        for (int tier = 0; tier < 2; tier++)
            bytes[tier] = (in_extents[tier] + in_gaps[tier]) * hm_page_size();
    live->shown.view.fast_bytes = bytes[0];
    live->shown.view.slow_bytes = bytes[1];
    end->used_pages = bytes[0] / hm_page_size();
    end->gap_pages = in_gaps[0] < end->used_pages ? in_gaps[0] : end->used_pages;
    hm_nodes_refresh(&live->nodes);
    hm_live_read_share(live, bytes);
    uint64_t room = end->used_pages + hm_nodes_fast_room(&live->nodes) / hm_page_size();
    end->capacity_pages = hm_least(room, hm_least(live->cap_pages, live->share.pages));
}

/* Estimates the shares of accesses by tier, before anything moves. */
static void tally(struct hm_live *live, const struct end *end)
{
    static uint64_t page[HM_TALLY_PAGES];
    static int8_t is_fast[HM_TALLY_PAGES];
    size_t n = hm_tally_choose(&live->account.tally);
    for (size_t i = 0; i < n; i++)
        page[i] = live->account.tally.sample[i].page;
    hm_residence_look(&live->residence, page, is_fast, n);
    uint32_t *order = calloc(end->n_extents + 1, sizeof(*order));
    double best = order ? hm_tally_best_placement(end->extent, end->n_extents, end->capacity_pages, order) : -1;
    free(order);
    hm_tally_end(&live->account.tally, is_fast, best);
    double all = live->account.tally.all_movable + live->account.tally.all_unmovable;
    if (all > 0 && live->account.tally.all_unmovable > MANY_UNMOVABLE * all)
        hm_progress_warn(live->shown.progress,
                         "more than a tenth of the sampled accesses is to memory that is not moved: files, shared "
                         "memory, or memory that is gone by now");
}

/* Plans to demote memory that nobody was seen to use: enough moves for `pages`, by ascending page. */
static size_t demote_unused(struct hm_live *live, const struct end *end, uint64_t pages, struct hm_move *moves)
{
    size_t n = 0;
    for (size_t i = 0; i < end->n_gaps && pages > 0; i++) {
        const struct hm_extent *gap = &live->gaps[i];
        if (gap->fast_pages == 0)
            continue;
        moves[n++] = (struct hm_move){.first = gap->first, .n_pages = gap->n_pages, .limit = pages};
        pages = hm_less(pages, gap->fast_pages);
    }
    return n;
}

static int compare_priority(const void *a, const void *b)
{
    const struct hm_extent *x = *(const struct hm_extent *const *)a, *y = *(const struct hm_extent *const *)b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/*
 * How many pages are to be demoted after the plan's moves: all that is still above the cap, and a part of what is above
 * the share, so that the step gives back over some phases, and keeps what is hot while it does.
 */
static uint64_t pages_over(const struct hm_live *live, const struct end *end)
{
    uint64_t used = hm_less(end->used_pages + live->mover.moved.promoted, live->mover.moved.demoted);
    uint64_t above_share = hm_less(used, live->share.pages);
    return hm_most(hm_less(used, live->cap_pages), above_share / PHASES_TO_GIVE_BACK);
}

/*
 * Demotes what is still above the cap or the share, coldest first. The plan may have fallen short: pages could not be
 * moved, the few pages that were looked up in an extent misled it, or the CPU time was used up. An idle step even has
 * hardly any CPU time to use. Keeping the cap, and what other jobs have a right to, is more important than the
 * overhead.
 */
static void enforce_limits(struct hm_live *live, const struct end *end, uint64_t rate_pages)
{
    uint64_t promoted = live->mover.moved.promoted, demoted = live->mover.moved.demoted;
    uint64_t over = pages_over(live, end);
    if (over == 0)
        return;
    live->mover.budget_pages = rate_pages == UINT64_MAX ? UINT64_MAX : hm_less(rate_pages, promoted + demoted);
    struct hm_move *moves = calloc(end->n_gaps + end->n_extents + 1, sizeof(*moves));
    const struct hm_extent **by_priority = calloc(end->n_extents + 1, sizeof(*by_priority));
    if (moves && by_priority) {
        size_t n = demote_unused(live, end, UINT64_MAX, moves);
        for (size_t i = 0; i < end->n_extents; i++)
            by_priority[i] = &end->extent[i];
        if (end->n_extents > 1)
            qsort(by_priority, end->n_extents, sizeof(const struct hm_extent *), compare_priority);
        for (size_t i = 0; i < end->n_extents; i++)
            moves[n++] = (struct hm_move){
                .first = by_priority[i]->first, .n_pages = by_priority[i]->n_pages, .limit = by_priority[i]->n_pages};
        for (size_t i = 0; i < n && over > 0 && !hm_live_is_told(live); i++) {
            uint64_t before = live->mover.moved.demoted;
            moves[i].limit = over;
            hm_mover_run(&live->mover, &moves[i], 1);
            over = hm_less(over, live->mover.moved.demoted - before);
        }
    }
    free(by_priority);
    free(moves);
}

static void move(struct hm_live *live, struct end *end, double phase_s)
{
    uint64_t pages[2] = {0}, rate = hm_pace_budget(&live->account.pace, (int64_t)hm_clock_s(CLOCK_REALTIME)),
             paid = hm_purse_pages(&live->account.purse);
    size_t n_planned = 0, n = 0;
    double start_s = hm_live_thread_s();
    struct hm_budget budget = {
        .capacity_pages = end->capacity_pages,
        .used_pages = end->used_pages - end->gap_pages,
        .move_pages = rate < paid ? rate : paid,
        .phases_left = hm_pace_phases_left(&live->account.pace, (int64_t)hm_clock_s(CLOCK_REALTIME), phase_s),
    };
    const struct hm_move *planned = hm_decider_plan(live->decider, &budget, &n_planned);
    end->extent = hm_decider_extents(live->decider, &end->n_extents);
    struct hm_move *moves = calloc(n_planned + end->n_gaps + 1, sizeof(*moves));
    hm_mover_begin(&live->mover, hm_less(end->capacity_pages, end->used_pages), budget.move_pages);
    if (!moves)
        return;
    for (size_t i = 0; i < n_planned; i++)
        pages[planned[i].to_fast] += planned[i].limit < planned[i].n_pages ? planned[i].limit : planned[i].n_pages;
    uint64_t wanted = hm_less(end->used_pages + pages[1], pages[0]);
    n = demote_unused(live, end, hm_less(wanted, end->capacity_pages), moves);
    if (n_planned > 0)
        memcpy(moves + n, planned, n_planned * sizeof(*moves));
    hm_mover_run(&live->mover, moves, n + n_planned);
    free(moves);
    enforce_limits(live, end, rate);
    uint64_t moved = live->mover.moved.promoted + live->mover.moved.demoted;
    double moving_s = hm_live_thread_s() - start_s;
    live->account.deciding_s -= moving_s;
    hm_pace_learn(&live->account.pace, moved * hm_page_size(), live->mover.busy_s);
    hm_purse_learn(&live->account.purse, moved, moving_s);
}

/* Notes how much was above the cap: before the first move, and at the end of phases. */
static void watch_cap(struct hm_live *live, const struct end *end)
{
    uint64_t bytes[2],
        used = hm_less(end->used_pages + live->mover.moved.promoted, live->mover.moved.demoted) * hm_page_size();
    struct hm_progress *progress = live->shown.progress;
    if (live->cap_pages == UINT64_MAX)
        return;
    if (live->n_decided == 0)
        progress->first_above_cap_bytes = hm_less(end->used_pages, live->cap_pages) * hm_page_size();
    if (hm_live_read_usage(live, bytes))
        used = bytes[0];
    uint64_t above = hm_less(used, live->cap_pages * hm_page_size());
    if (above > progress->above_cap_bytes)
        progress->above_cap_bytes = above;
}

static void write_figures(struct hm_live *live, const struct end *end, double phase_s)
{
    struct hm_progress *progress = live->shown.progress;
    const struct hm_moved *moved = &live->mover.moved;
    progress->promoted_bytes += moved->promoted * hm_page_size();
    progress->demoted_bytes += moved->demoted * hm_page_size();
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        progress->unmoved_bytes[i] += moved->unmoved[i] * hm_page_size();
    progress->fast_share = hm_tally_fast(&live->account.tally);
    progress->last_fast_share = live->account.tally.last;
    progress->best_share = hm_tally_best(&live->account.tally);
    live->n_decided++;
    if (live->mover.refused >= 0)
        hm_progress_warn(progress, "the kernel refused a node: it is outside of the job's cpuset, or gone");
    hm_live_update_figures(live);
    struct hm_view *view = &live->shown.view;
    view->promoted_per_s = phase_s > 0 ? (double)moved->promoted * hm_page_size() / phase_s : 0;
    view->demoted_per_s = phase_s > 0 ? (double)moved->demoted * hm_page_size() / phase_s : 0;
    view->n_rows = hm_viewserver_rows(end->extent, end->n_extents, &live->intake.ranks, view->row);
}

/* Decides and moves. `start_s` is this thread's CPU time when the decision began. */
static void decide(struct hm_live *live, double phase_s, double start_s)
{
    struct end end = {0};
    hm_live_observe_later(live);
    hm_live_look_at_cost(live);
    /* Without a decider there is no source any more. If the migrator was told to end, it does so without a decision. */
    if (!live->decider || hm_live_is_told(live))
        return;
    hm_decider_end_phase(live->decider);
    end.extent = hm_decider_extents(live->decider, &end.n_extents);
    hm_live_end_window(live, end.extent, end.n_extents);
    look_at_memory(live, &end);
    tally(live, &end);
    hm_live_look_at_cost(live);
    move(live, &end, phase_s);
    watch_cap(live, &end);
    write_figures(live, &end, phase_s);
    hm_purse_learn_decision(&live->account.purse, live->account.deciding_s + hm_live_thread_s() - start_s);
    live->account.deciding_s = 0;
}

/* Extends a phase at its end, where a decision is not paid for. */
static bool is_extended(struct hm_live *live)
{
    if (live->rest.is_resting || !live->intake.source)
        return false;
    return hm_pace_lengthen(&live->account.pace, live->share.is_above || hm_live_is_paid(live));
}

void hm_live_end_phase(struct hm_live *live)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    hm_live_read_source(live);
    /* Lists that have waited to be read may have begun the phase anew; so may a look, if it has opened a source. */
    if (!hm_live_phase_is_over(live, now) || is_extended(live))
        return;
    if (!live->rest.is_resting) {
        double start_s = hm_live_thread_s();
        hm_live_read_maps(live);
        hm_live_look(live);
        if (!hm_live_phase_is_over(live, now))
            return;
        if (live->decider)
            decide(live, (double)(now - live->phase_start_ns) / 1e9, start_s);
        hm_live_rest(live);
    }
    live->shown.progress->phases += live->intake.source || live->rest.is_resting;
    hm_live_update_figures(live);
    hm_live_begin_phase(live, now);
}
