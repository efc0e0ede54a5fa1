/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a phase: plans moves by heat, carries them out, and sums up the result. */
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "phaseparts.h"

#define LOOK_SHARE 0.05   /* share of the purse's CPU time that may be spent on looking up where pages are */
#define LOOK_S 20e-6      /* assumed CPU time of one look, until it is measured: many times the usual one */
#define LOOKS_MOST 262144 /* most looks in one phase */
#define LOOKED_NS UINT64_C(1000000000) /* after a look this long ago, the processes need no other one */
#define MANY_UNMOVABLE 0.1             /* a larger share of accesses to memory that cannot be moved causes a warning */

/* Adds up the extents' pages by tier. Returns their sum. */
static uint64_t sum_up(const struct hm_extent *extents, size_t count, uint64_t pages[HM_MAX_TIERS])
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        for (int tier = 0; tier < HM_MAX_TIERS; tier++) {
            pages[tier] += extents[i].tier_pages[tier];
            all += extents[i].tier_pages[tier];
        }
    return all;
}

/* Looks up in which tier extents and gaps are, with as many looks as the overhead allows at their measured cost. */
static void fill(struct hm_live *live, struct hm_live_end *end)
{
    double budget_s = hm_purse_part(&live->account.purse, LOOK_SHARE), start_s = hm_live_thread_s();
    double looks = budget_s / (live->account.look_s > 0 ? live->account.look_s : LOOK_S);
    size_t n = looks < LOOKS_MOST ? (size_t)looks : LOOKS_MOST;
    size_t done = hm_residence_fill(&live->residence, end->extent, end->n_extents, n - n / 4);
    end->n_gaps = hm_residence_gaps(&live->residence, end->extent, end->n_extents, false, live->gaps, HM_LIVE_GAPS);
    struct hm_extent *unseen = live->gaps + end->n_gaps;
    end->n_unseen =
        hm_residence_gaps(&live->residence, end->extent, end->n_extents, true, unseen, HM_LIVE_GAPS - end->n_gaps);
    size_t share = end->n_unseen > 0 ? n / 8 : n / 4;
    done += hm_residence_fill(&live->residence, live->gaps, end->n_gaps, share);
    done += hm_residence_fill(&live->residence, unseen, end->n_unseen, n / 4 - share);
    if (done > 0)
        live->account.look_s = (hm_live_thread_s() - start_s) / (double)done;
}

/* Most pages that the step may have in a tier, by the room that is free there. */
static uint64_t capacity(const struct hm_live *live, const struct hm_live_end *end, unsigned tier)
{
    uint64_t pages = end->used_pages[tier] + hm_nodes_room(&live->nodes, tier) / hm_page_size();
    if (tier > 0)
        return pages;
    pages = hm_less(pages, hm_nodes_fast_short(&live->nodes) / hm_page_size());
    return hm_least(pages, hm_least(live->cap_pages, live->share.pages));
}

/* Finds out how much memory is where, and how much the tiers may hold. */
static void look_at_memory(struct hm_live *live, struct hm_live_end *end)
{
    uint64_t in_extents[HM_MAX_TIERS] = {0}, in_gaps[HM_MAX_TIERS] = {0}, in_unseen[HM_MAX_TIERS] = {0};
    uint64_t tiers[HM_MAX_TIERS], bytes[2];
    hm_live_look_at_apart(live);
    fill(live, end);
    uint64_t found = sum_up(end->extent, end->n_extents, in_extents) + sum_up(live->gaps, end->n_gaps, in_gaps) +
                     sum_up(live->gaps + end->n_gaps, end->n_unseen, in_unseen);
    live->account.knows_usage = hm_live_read_tiers(live, tiers);
    for (int tier = 0; tier < HM_MAX_TIERS && !live->account.knows_usage; tier++)
        tiers[tier] = (in_extents[tier] + in_gaps[tier] + in_unseen[tier]) * hm_page_size();
    hm_live_sum_slow(tiers, bytes);
    if (live->account.knows_usage)
        hm_live_weigh_maps(live, (bytes[0] + bytes[1]) / hm_page_size(), found);
    live->shown.view.fast_bytes = bytes[0];
    live->shown.view.slow_bytes = bytes[1];
    hm_nodes_refresh(&live->nodes);
    hm_live_keep_room(live, bytes);
    hm_live_read_share(live, bytes);
    for (unsigned tier = 0; tier + 1 < live->nodes.n_tiers; tier++) {
        end->used_pages[tier] = tiers[tier] / hm_page_size();
        end->gap_pages[tier] = hm_least(in_gaps[tier], end->used_pages[tier]);
        end->unseen_pages[tier] = hm_least(in_unseen[tier], end->used_pages[tier] - end->gap_pages[tier]);
        end->capacity_pages[tier] = capacity(live, end, tier);
    }
}

/* Estimates the shares of accesses by tier, before anything moves. */
static void tally(struct hm_live *live, const struct hm_live_end *end)
{
    static uint64_t page[HM_TALLY_PAGES];
    static int8_t tier[HM_TALLY_PAGES];
    size_t n = hm_tally_choose(&live->account.tally);
    for (size_t i = 0; i < n; i++) {
        struct hm_tally_sample *sample = &live->account.tally.sample[i];
        uint32_t space = HM_PAGE_SPACE(sample->page);
        page[i] = sample->page;
        sample->kind =
            space < HM_RANKS ? hm_maps_kind(&live->intake.maps[space], HM_PAGE_NUMBER(page[i])) : HM_MEMORY_OTHER;
        sample->is_stuck = !sample->is_movable || hm_unmovable_has(&live->mover.unmovable, page[i]);
    }
    hm_residence_look(&live->residence, page, tier, n);
    struct hm_tally_rank *rank = calloc(end->n_extents + 1, sizeof(*rank));
    double best = rank ? hm_tally_best_placement(end->extent, end->n_extents, end->capacity_pages[0], rank) : -1;
    free(rank);
    hm_tally_end(&live->account.tally, tier, best);
    double all = live->account.tally.all_movable + live->account.tally.all_unmovable;
    if (all > 0 && live->account.tally.all_unmovable > MANY_UNMOVABLE * all)
        hm_progress_warn(live->shown.progress,
                         "more than a tenth of the sampled accesses is to memory that is not moved: programs, files "
                         "of others, or memory that is gone by now");
}

/* Plans to demote memory that was not seen in use, to make room for the planned moves. Returns the number of moves. */
static size_t make_room(struct hm_live *live, const struct hm_live_end *end, const struct hm_live_planned *planned,
                        struct hm_move *moves)
{
    size_t n = 0;
    for (unsigned tier = 0; tier + 1 < live->nodes.n_tiers && !hm_live_is_blind(live, end); tier++)
        n +=
            hm_live_demote_unused(live, end, tier, hm_live_above_room(end, tier, planned->move, planned->n), moves + n);
    return n;
}

/* Adds the gain of what was moved of the plan. Where it is not known, neither is the sum. */
static void count_gain(struct hm_live *live, const struct hm_live_planned *planned)
{
    double *sum_s = &live->shown.progress->gain_s;
    uint64_t moved = hm_least(live->mover.moved.promoted, planned->promoted);
    if (*sum_s < 0 || planned->gain_s < 0)
        *sum_s = -1;
    else if (moved > 0)
        *sum_s += planned->gain_s * (double)moved / (double)planned->promoted;
}

static void move(struct hm_live *live, struct hm_live_end *end, struct hm_heat_share *share, double phase_s)
{
    double now_s = hm_clock_s(CLOCK_REALTIME);
    hm_purse_add_idle(&live->account.purse, phase_s, hm_live_above_cap(live, end));
    struct hm_budget budget = {
        .move_pages = hm_pace_budget(&live->account.pace, now_s),
        .phases_left = hm_pace_phases_left(&live->account.pace, now_s, phase_s),
        .share = share,
    };
    for (unsigned tier = 0; tier + 1 < live->nodes.n_tiers; tier++) {
        budget.capacity_pages[tier] = end->capacity_pages[tier];
        budget.used_pages[tier] = hm_live_used(live, end, tier);
    }
    struct hm_live_planned planned = hm_live_plan(live, end, &budget, phase_s);
    double start_s = hm_live_thread_s(); /* to plan is part of the decision */
    struct hm_move *moves = calloc(planned.n + end->n_gaps * live->nodes.n_tiers + 1, sizeof(*moves));
    hm_mover_begin(&live->mover, hm_less(end->capacity_pages[0], end->used_pages[0]), budget.move_pages);
    if (!moves)
        return;
    size_t n = make_room(live, end, &planned, moves);
    if (planned.n > 0)
        memcpy(moves + n, planned.move, planned.n * sizeof(*moves));
    hm_mover_run(&live->mover, moves, n + planned.n);
    free(moves);
    count_gain(live, &planned);
    hm_live_enforce_limits(live, end, hm_pace_rate(&live->account.pace), planned.paid_pages);
    uint64_t moved = live->mover.moved.promoted + live->mover.moved.demoted;
    double moving_s = hm_live_thread_s() - start_s;
    live->account.deciding_s -= moving_s;
    hm_pace_learn(&live->account.pace, moved * hm_page_size(), live->mover.busy_s);
    hm_purse_learn(&live->account.purse, moved, moving_s);
}

static void write_figures(struct hm_live *live, const struct hm_live_end *end, double phase_s)
{
    struct hm_progress *progress = live->shown.progress;
    const struct hm_moved *moved = &live->mover.moved;
    progress->promoted_bytes += moved->promoted * hm_page_size();
    progress->demoted_bytes += moved->demoted * hm_page_size();
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        progress->unmoved_bytes[i] += moved->unmoved[i] * hm_page_size();
    progress->fast_share = hm_tally_share(&live->account.tally, 0);
    for (unsigned tier = 0; tier < live->nodes.n_tiers; tier++)
        progress->tier_share[tier] = hm_tally_share(&live->account.tally, tier);
    progress->n_tier_shares = live->nodes.n_tiers; /* last: a share that is not there yet would be read as 0 */
    progress->last_fast_share = live->account.tally.last;
    progress->best_share = hm_tally_best(&live->account.tally);
    progress->knows_heat = hm_tally_kinds(&live->account.tally, progress->heat, progress->stuck);
    live->n_decided++;
    if (live->mover.refused >= 0)
        hm_progress_warn(progress, "the kernel refused a node: it is outside of the job's cpuset, or was gone");
    if (live->mover.lacks_files)
        hm_progress_warn(progress,
                         "memory was not moved: the migrator can open no more files (ulimit -n, fs.file-max)");
    hm_live_update_figures(live);
    struct hm_view *view = &live->shown.view;
    view->promoted_per_s = phase_s > 0 ? (double)moved->promoted * hm_page_size() / phase_s : 0;
    view->demoted_per_s = phase_s > 0 ? (double)moved->demoted * hm_page_size() / phase_s : 0;
    view->n_rows = hm_viewserver_rows(end->extent, end->n_extents, &live->intake.ranks, view->row);
}

/* The view shows what is where after the moves. */
static void show_moved(struct hm_live *live)
{
    struct hm_view *view = &live->shown.view;
    uint64_t in = live->mover.moved.into_fast * hm_page_size(), out = live->mover.moved.out_of_fast * hm_page_size();
    view->fast_bytes = hm_less(view->fast_bytes + in, out);
    view->slow_bytes = hm_less(view->slow_bytes + out, in);
}

/* Decides and moves. Returns false if there was nothing to decide with. `start_s` is this thread's CPU time when the
 * decision began. */
static bool decide(struct hm_live *live, double phase_s, double start_s)
{
    struct hm_live_end end = {0};
    hm_live_observe_later(live);
    hm_live_look_at_cost(live);
    /* Without a decider there is no source any more. If the migrator was told to end, it does so without a decision. */
    if (!live->decider || hm_live_is_told(live))
        return false;
    hm_decider_end_phase(live->decider);
    end.extent = hm_decider_extents(live->decider, &end.n_extents);
    hm_live_end_window(live, end.extent, end.n_extents);
    look_at_memory(live, &end);
    tally(live, &end);
    struct hm_heat_share *share = hm_live_look_at_load(live, end.extent, end.n_extents, phase_s);
    hm_live_look_at_cost(live);
    move(live, &end, share, phase_s);
    if (live->mover.moved.has_apart)
        hm_live_look_at_apart(live);
    hm_live_look_at_cost(live);
    hm_live_watch_cap(live, &end, phase_s);
    show_moved(live);
    write_figures(live, &end, phase_s);
    hm_purse_learn_decision(&live->account.purse, live->account.deciding_s + hm_live_thread_s() - start_s);
    live->account.deciding_s = 0;
    return true;
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
        bool is_news = hm_live_follow_maps(live);
        if (now >= live->intake.looked_ns + LOOKED_NS)
            hm_live_look(live);
        else if (is_news)
            hm_live_update_source(live);
        if (!hm_live_phase_is_over(live, now))
            return;
        if (live->decider && decide(live, (double)(now - live->phase_start_ns) / 1e9, start_s))
            hm_live_rest_decided(live);
        else
            hm_live_rest(live);
    } else {
        hm_live_look_at_cost(live);
    }
    live->room.phase_ns = now - live->phase_start_ns;
    live->shown.progress->phases += live->intake.source || live->rest.is_resting;
    hm_live_update_figures(live);
    hm_live_begin_phase(live, now);
}
