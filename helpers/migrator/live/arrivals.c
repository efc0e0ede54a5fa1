/* SPDX-License-Identifier: Apache-2.0 */
/* Follows processes and mappings that come and go. */
#include <math.h>
#include <stdio.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "live.h"
#include "migrator/watch/mapsread.h"

/* Of so many phases, one reads all mappings, changed or not: a process may have mapped as much as it has unmapped.
 * Where that is much, it is mostly noticed before (doubt_maps, hm_live_weigh_maps, hm_moved.is_stale). */
#define READ_ALL 8
/* Of what a process has mapped, a smaller part is too little to read its mappings again, if it is also less than what
 * is worth a look in the slow tier: programs map and unmap small pieces all the time. A page that is gone is not moved,
 * and one that is not known yet stays where it is, above the cap or not. The same part of what is used matters, too. */
#define MATTERS 0.05
/* Pieces of memory that are forgotten together, as all that is known is passed each time. */
#define GONE 4096

/*
 * The number of ranges that one process may keep: an equal share of HM_LIVE_RANGES, but at most HM_MAPS_RANGES. With
 * many processes, each has few mappings that matter.
 */
static size_t most_ranges(const struct hm_live *live)
{
    size_t share = HM_LIVE_RANGES / (live->intake.ranks.n_living > 0 ? live->intake.ranks.n_living : 1);
    return share < HM_MAPS_RANGES ? share : HM_MAPS_RANGES;
}

int hm_live_read_one(struct hm_live *live, uint32_t space, struct hm_maps *maps, struct hm_claims *claims)
{
    const struct hm_maps_reader reader = {
        .pid = live->intake.ranks.rank[space].pid, .space = space, .devices = &live->intake.devices, .claims = claims};
    return hm_maps_read(maps, &reader, NULL);
}

/* Reads the mappings of a process, and notes how much it has mapped now: before, so that a change meanwhile is seen. */
static int read_and_note(struct hm_live *live, uint32_t space, struct hm_maps *maps)
{
    struct hm_rank *rank = &live->intake.ranks.rank[space];
    rank->mapped = hm_mapped_size(rank->pid);
    return hm_live_read_one(live, space, maps, &live->intake.claims);
}

/* Is the home of some memory a process that is gone? */
static bool has_lost_home(const struct hm_live *live)
{
    for (size_t i = 0; i < live->intake.claims.n; i++)
        if (live->intake.ranks.rank[HM_PAGE_SPACE(live->intake.claims.claim[i].home)].is_gone)
            return true;
    return false;
}

/* Warns once of processes that there is no room for: as soon as two looks find as many, so that all have begun. */
static void warn_of_lacking(struct hm_live *live)
{
    const struct hm_ranks *ranks = &live->intake.ranks;
    uint64_t before = live->intake.n_lacking;
    char text[HM_WARNING];
    if (before == UINT64_MAX)
        return;
    live->intake.n_lacking = ranks->n_lacking;
    if (ranks->n_lacking == 0 || ranks->n_lacking != before)
        return;
    snprintf(text, sizeof(text), "%u of %llu processes are looked at: %s", ranks->n_living,
             (unsigned long long)(ranks->n_living + ranks->n_lacking),
             ranks->n == HM_RANKS ? "the migrator knows no more" : "too many open files (ulimit -n)");
    hm_progress_warn(live->shown.progress, text);
    live->intake.n_lacking = UINT64_MAX;
}

static void forget(struct hm_live *live, const struct hm_gone *gone, size_t n)
{
    if (live->decider)
        hm_decider_forget(live->decider, gone, n);
    hm_mover_forget(&live->mover, gone, n);
}

int hm_live_look(struct hm_live *live)
{
    live->intake.looked_ns = hm_clock_ns(CLOCK_MONOTONIC);
    int living = hm_ranks_update(&live->intake.ranks, NULL);
    warn_of_lacking(live);
    if (has_lost_home(live))
        hm_live_read_maps(live);
    for (uint32_t space = 0; space < live->intake.ranks.n; space++) {
        const struct hm_rank *rank = &live->intake.ranks.rank[space];
        if (rank->pid != 0 && rank->is_gone) {
            const struct hm_gone all = {HM_PAGE(space, 0), UINT64_C(1) << HM_PAGE_BITS};
            forget(live, &all, 1);
            if (live->window.softdirty)
                hm_softdirty_forget(live->window.softdirty, space);
            hm_maps_free(&live->intake.maps[space]);
        } else if (rank->pid != 0 && rank->is_new) {
            live->intake.maps[space].most = most_ranges(live);
            read_and_note(live, space, &live->intake.maps[space]);
        }
    }
    hm_live_update_source(live);
    return living;
}

/* Memory of one process that is not mapped any more, as far as it is not forgotten yet. */
struct vanished {
    struct hm_live *live;
    uint32_t space;
    size_t n;
    struct hm_gone gone[GONE];
};

static void forget_vanished(struct vanished *vanished)
{
    if (vanished->n > 0)
        forget(vanished->live, vanished->gone, vanished->n);
    vanished->n = 0;
}

static void note_vanished(void *data, struct hm_range range)
{
    struct vanished *vanished = data;
    vanished->gone[vanished->n++] = (struct hm_gone){HM_PAGE(vanished->space, range.first), range.n_pages};
    if (vanished->n == GONE)
        forget_vanished(vanished);
}

/* Reads the mappings of a process again, and forgets what is no longer mapped. */
static void read_again(struct hm_live *live, uint32_t space)
{
    static struct vanished vanished;
    vanished.live = live;
    vanished.space = space;
    live->intake.scratch.most = most_ranges(live);
    if (!hm_ranks_is_there(&live->intake.ranks, space) || read_and_note(live, space, &live->intake.scratch) != 0)
        return;
    hm_maps_compare(&live->intake.maps[space], &live->intake.scratch, note_vanished, &vanished);
    forget_vanished(&vanished);
    struct hm_maps before = live->intake.maps[space];
    live->intake.maps[space] = live->intake.scratch;
    live->intake.scratch = before;
}

/* A number that is another one where other memory of the process may be mapped by others, too. */
static uint64_t shared_of(const struct hm_maps *maps)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < maps->n_mapped; i++)
        if (maps->mapped[i].may_move)
            sum += (maps->mapped[i].range.first + 1) * maps->mapped[i].range.n_pages;
    return sum;
}

/* The same; returns whether memory that others may map has come or gone. */
static bool changes_shared(struct hm_live *live, uint32_t space)
{
    uint64_t before = shared_of(&live->intake.maps[space]);
    read_again(live, space);
    return shared_of(&live->intake.maps[space]) != before;
}

void hm_live_read_maps(struct hm_live *live)
{
    hm_claims_clear(&live->intake.claims);
    for (uint32_t space = 0; space < live->intake.ranks.n; space++)
        read_again(live, space);
    live->intake.all_read = true;
}

void hm_live_weigh_maps(struct hm_live *live, uint64_t used_pages, uint64_t found_pages)
{
    uint64_t unknown = hm_less(used_pages, found_pages);
    if (live->intake.all_read || unknown < live->intake.unknown_pages)
        live->intake.unknown_pages = unknown;
    else if ((double)(unknown - live->intake.unknown_pages) > MATTERS * (double)used_pages)
        live->intake.n_followed = 0;
    live->intake.all_read = false;
}

/* Has the process mapped or unmapped much memory since its mappings were read? */
static bool has_changed(const struct hm_rank *rank)
{
    struct hm_mapped_size now = hm_mapped_size(rank->pid), before = rank->mapped;
    double much = fmin(MATTERS * (double)before.data, (double)(HM_REST_BYTES / hm_page_size()));
    return now.all == 0 || fabs((double)now.all - (double)before.all) > much ||
           fabs((double)now.data - (double)before.data) > much;
}

/* Is the observation of memory of a process that is there, in no mapping that is known? Beyond so many mappings that
 * are not private, none is known. */
static bool is_unknown(const struct hm_live *live, const struct hm_observation *seen)
{
    uint32_t space = HM_PAGE_SPACE(seen->page);
    if (!hm_ranks_is_there(&live->intake.ranks, space))
        return false;
    const struct hm_maps *maps = &live->intake.maps[space];
    uint64_t first = HM_PAGE_NUMBER(seen->page), end = first + seen->n_pages;
    size_t i = hm_maps_find_mapped(maps, first);
    return maps->n_mapped < HM_MAPS_MAPPED && hm_maps_count(maps, first, seen->n_pages) == 0 &&
           (i == maps->n_mapped || maps->mapped[i].range.first >= end);
}

/* Where much of what was used in the phase is not known, forgets what its processes have mapped, so that their mappings
 * are read again: what has come in place of something else of the same size changes no sum. */
static void doubt_maps(struct hm_live *live)
{
    double all = live->account.tally.movable, unknown = 0;
    for (size_t i = 0; i < live->intake.n_later; i++) {
        const struct hm_observation *seen = &live->intake.later[i];
        double accesses = ((double)seen->reads + (double)seen->writes) * (double)live->intake.source->state.unit;
        all += accesses;
        unknown += is_unknown(live, seen) ? accesses : 0;
    }
    for (size_t i = 0; i < live->intake.n_later && unknown > MATTERS * all; i++)
        if (is_unknown(live, &live->intake.later[i]))
            live->intake.ranks.rank[HM_PAGE_SPACE(live->intake.later[i].page)].mapped = (struct hm_mapped_size){0};
}

bool hm_live_follow_maps(struct hm_live *live)
{
    doubt_maps(live);
    if (live->mover.moved.is_stale)
        live->intake.n_followed = 0;
    live->mover.moved.is_stale = false;
    bool all = live->intake.n_followed++ % READ_ALL == 0, any = all;
    for (uint32_t space = 0; space < live->intake.ranks.n; space++) {
        if (!hm_ranks_is_there(&live->intake.ranks, space) || !has_changed(&live->intake.ranks.rank[space]))
            continue;
        any = true;
        if (!all)
            all = changes_shared(live, space);
    }
    if (all)
        hm_live_read_maps(live);
    return any;
}
