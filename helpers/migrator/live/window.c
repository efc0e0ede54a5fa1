/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of soft-dirty marks: decides when one is open, and what is looked up at its end. */
#include <stdio.h>
#include <stdlib.h>

#include "base/amount.h"
#include "live.h"

#define WINDOW_SHARE 0.25  /* share of the unspent budget (purse.h) for looking up what was written */
#define RANGES_LEAST 32    /* ranges that are looked up however little is left of the budget */
#define PARTS_OF_A_PHASE 2 /* a long window (is_long) lasts one of this many equal parts of a phase */

/*
 * Is the window long? A short window sees the writes of a moment, as DAMON sees the accesses of a moment. That is
 * enough to divide an extent's accesses into reads and writes. But of a large array that is written from end to end, it
 * sees only the part that is written at that time. If only writes count, the rest of the array would be missed, so the
 * window must be long. If phases count samples, the window is short all the same, as their length in time is not known.
 */
static bool is_long(const struct hm_live *live)
{
    return live->options->hot_by_writes && live->account.pace.phase_samples == 0;
}

static uint64_t window_ns(const struct hm_live *live)
{
    uint64_t milliseconds =
        is_long(live) ? live->account.pace.interval_ms / PARTS_OF_A_PHASE : hm_softdirty_window_ms();
    return milliseconds * UINT64_C(1000000);
}

/*
 * Is it too late to begin a window that was to last from `begin` to `end`? What it sees replaces what was known before,
 * and it would see too little: the moves of the last phase may have taken as long as this phase. Where the phase waits
 * for the end of a round of looks, a short window sees enough.
 */
static bool is_late(const struct hm_live *live, uint64_t now, uint64_t begin, uint64_t end)
{
    bool waits = !is_long(live) && live->intake.source && !hm_live_has_looked(live);
    return !waits && now > begin && now - begin > hm_less(end, begin) / 2;
}

uint64_t hm_live_window_due(const struct hm_live *live, uint64_t now)
{
    uint64_t end = hm_pace_due(&live->account.pace, live->phase_start_ns);
    uint64_t window = window_ns(live);
    uint64_t samples = hm_live_samples(live) - live->phase_first_sample;
    if (!live->window.is_used || !live->decider || live->window.is_open ||
        live->window.phase_ns == live->phase_start_ns)
        return UINT64_MAX;
    /* If phases count samples, this phase ends at about this time, at the present rate of samples. */
    if (live->account.pace.phase_samples > 0 && samples > 0)
        end = live->phase_start_ns +
              (uint64_t)((double)(now - live->phase_start_ns) * (double)live->account.pace.phase_samples *
                         (1 + live->account.pace.longer) / (double)samples);
    if (end == UINT64_MAX || end < window || is_late(live, now, hm_most(live->phase_start_ns, end - window), end))
        return UINT64_MAX;
    return end - window;
}

/* Reads mappings without joining neighbours, as the kernel marks each mapping by itself. */
static void read_apart(struct hm_live *live, uint32_t space, struct hm_maps *maps)
{
    maps->is_apart = true;
    maps->most = live->intake.maps[space].most;
    hm_live_read_one(live, space, maps, NULL);
}

/* Reads the mappings of the processes that have a window; the others keep none. */
static void read_begun(struct hm_live *live)
{
    for (uint32_t space = 0; space < live->intake.ranks.n && space < HM_RANKS; space++) {
        hm_maps_free(&live->window.begun[space]);
        if (hm_softdirty_has_window(live->window.softdirty, space))
            read_apart(live, space, &live->window.begun[space]);
    }
}

/* Warns once of processes whose marks would take too long to clear. */
static void warn_of_long(struct hm_live *live)
{
    char text[HM_WARNING];
    uint32_t n = hm_softdirty_state(live->window.softdirty)->n_long;
    if (n == 0 || live->window.has_told)
        return;
    live->window.has_told = true;
    snprintf(text, sizeof(text),
             "writes unknown: they count as reads in %u of %u processes, which the clearing of soft-dirty marks would "
             "stop for more than %u ms",
             n, live->intake.ranks.n_living, (unsigned)(HM_SOFTDIRTY_MOST_S * 1000));
    hm_progress_warn(live->shown.progress, text);
}

void hm_live_begin_window(struct hm_live *live)
{
    double start_s = hm_live_thread_s();
    live->window.is_open = hm_softdirty_begin(live->window.softdirty, &live->intake.ranks) > 0;
    live->window.phase_ns = live->phase_start_ns;
    warn_of_long(live);
    if (live->options->hot_by_writes)
        read_begun(live);
    live->account.deciding_s += hm_live_thread_s() - start_s;
}

static int compare_heat(const void *a, const void *b)
{
    const struct hm_extent *x = *(const struct hm_extent *const *)a, *y = *(const struct hm_extent *const *)b;
    double heat_x = (x->reads + x->writes) / (double)x->n_pages, heat_y = (y->reads + y->writes) / (double)y->n_pages;
    return heat_x != heat_y ? (heat_x < heat_y) - (heat_x > heat_y) : (x->first > y->first) - (x->first < y->first);
}

static int compare_first(const void *a, const void *b)
{
    const struct hm_extent *x = *(const struct hm_extent *const *)a, *y = *(const struct hm_extent *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Chooses the hottest extents, at most `most`: only hot memory may be worth a move. */
static size_t choose_ranges(const struct hm_extent *extents, size_t count, size_t most, const struct hm_extent **chosen)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (extents[i].reads + extents[i].writes > 0)
            chosen[n++] = &extents[i];
    if (n > 1)
        qsort(chosen, n, sizeof(*chosen), compare_heat);
    n = n < most ? n : most;
    if (n > 1)
        qsort(chosen, n, sizeof(*chosen), compare_first);
    return n;
}

/* Names the hottest extents for the look-up. Returns their number. */
static size_t name_hot(struct hm_live *live, const struct hm_extent *extents, size_t count, size_t most)
{
    const struct hm_extent **chosen = calloc(count + 1, sizeof(*chosen));
    size_t n = chosen ? choose_ranges(extents, count, most, chosen) : 0, taken = 0;
    for (size_t i = 0; i < n; i++)
        taken += hm_softdirty_add(live->window.softdirty, chosen[i]->first, chosen[i]->n_pages);
    free(chosen);
    return taken;
}

/*
 * Names all memory of the processes with a window, cut into pieces: if only writes count, heat does not say where to
 * look. The table must have room for the pieces of all living processes, over several windows. Returns the number of
 * pieces.
 */
static size_t name_all(struct hm_live *live, size_t most)
{
    size_t n = 0, windows = 0, living = live->intake.ranks.n_living > 0 ? live->intake.ranks.n_living : 1;
    for (uint32_t space = 0; space < live->intake.ranks.n && space < HM_RANKS; space++)
        windows += hm_softdirty_has_window(live->window.softdirty, space);
    size_t paid = most / (windows > 0 ? windows : 1), room = HM_SOFTDIRTY_RANGES / living;
    for (uint32_t space = 0; space < live->intake.ranks.n && space < HM_RANKS; space++) {
        struct hm_maps now = {.n = 0};
        if (!hm_softdirty_has_window(live->window.softdirty, space))
            continue;
        read_apart(live, space, &now);
        n += hm_softdirty_add_all(live->window.softdirty, space, &live->window.begun[space], &now,
                                  paid < room ? paid : room);
        hm_maps_free(&now);
    }
    return n;
}

void hm_live_end_window(struct hm_live *live, const struct hm_extent *extents, size_t count)
{
    if (!live->window.is_open)
        return;
    double start_s = hm_live_thread_s();
    double paid =
        live->window.range_s > 0 ? hm_purse_part(&live->account.purse, WINDOW_SHARE) / live->window.range_s : 0;
    size_t most = paid < RANGES_LEAST ? RANGES_LEAST : paid < HM_SOFTDIRTY_RANGES ? (size_t)paid : HM_SOFTDIRTY_RANGES;
    size_t n = live->options->hot_by_writes ? name_all(live, most) : name_hot(live, extents, count, most);
    hm_softdirty_end(live->window.softdirty, &live->intake.ranks);
    live->window.is_open = false;
    if (n > 0)
        live->window.range_s = (hm_live_thread_s() - start_s) / (double)n;
}
