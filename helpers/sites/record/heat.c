/* SPDX-License-Identifier: Apache-2.0 */
/* To which sites the accesses to memory belong. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "spread.h"
#include "watch.h"

#define BATCH 256 /* blocks that are read at a time */

static int compare(const void *a, const void *b)
{
    const struct hm_watch_range *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

/* Adds the blocks that are in use. Returns how many ranges there are then. */
static size_t take(const struct hm_sites_block *block, size_t count, struct hm_watch_range *range, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t start = block[i].address, end;
        if (start > 0 && block[i].entry < HM_SITES_ENTRIES && !__builtin_add_overflow(start, block[i].bytes, &end))
            range[n++] = (struct hm_watch_range){start,
                                                 end,
                                                 hm_least(block[i].before, HM_PROFILE_MOST),
                                                 block[i].entry,
                                                 block[i].is_inherited != 0,
                                                 block[i].is_shared != 0,
                                                 block[i].is_placed && block[i].is_fast};
    }
    return n;
}

struct hm_watch_ranges hm_watch_read_ranges(int fd)
{
    struct hm_sites_block block[BATCH];
    struct hm_sites_process head;
    struct hm_watch_ranges ranges = {NULL, 0};
    struct stat status;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || fstat(fd, &status) != 0)
        return ranges;
    size_t n_blocks = hm_least(head.n_blocks, hm_less((uint64_t)status.st_size, sizeof(head)) / sizeof(*block));
    n_blocks = hm_least(n_blocks, HM_SITES_BLOCKS);
    ranges.range = malloc((n_blocks + 1) * sizeof(*ranges.range));
    for (size_t i = 0; ranges.range && i < n_blocks; i += BATCH) {
        size_t wanted = hm_least(n_blocks - i, BATCH);
        ssize_t got = pread(fd, block, wanted * sizeof(*block), (off_t)(sizeof(head) + i * sizeof(*block)));
        ranges.n = take(block, got > 0 ? (size_t)got / sizeof(*block) : 0, ranges.range, ranges.n);
    }
    if (ranges.range)
        qsort(ranges.range, ranges.n, sizeof(*ranges.range), compare);
    return ranges;
}

/* Makes the slices of each site reach as far as its allocations in their order do, also those that are never used. */
static void reach(struct hm_watch *watch, const struct hm_watch_ranges *ranges)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const struct hm_watch_range *range = &ranges->range[i];
        struct hm_slices *slices = &watch->heat[range->entry].ordered;
        uint64_t end = range->before + (range->end - range->start);
        if (range->end - range->start >= HM_SLICES_LARGE || end > HM_PROFILE_MOST)
            continue; /* it is in no order, or the program has written this */
        slices->step_bytes = hm_most(slices->step_bytes, HM_SLICES_STEP);
        slices->extent_bytes = hm_most(slices->extent_bytes, end);
        hm_slices_widen(slices, end);
    }
}

/* Once after each look: it can be a million allocations. */
void hm_watch_refresh(struct hm_watch *watch, struct hm_watched *watched)
{
    struct hm_sites_process head;
    if (watched->has_changes && watched->read_ns == watch->looked_ns)
        return;
    watched->read_ns = watch->looked_ns;
    if (pread(watched->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        (watched->has_changes && head.changes == watched->changes))
        return;
    free(watched->before.range);
    watched->before = watched->now;
    watched->now = hm_watch_read_ranges(watched->fd);
    reach(watch, &watched->now);
    watched->changes = head.changes;
    watched->has_changes = true;
}

struct sharing {
    struct hm_watch *watch;
    const struct hm_watch_hit *hit;
};

static void take_part(void *data, const struct hm_watch_range *range, uint64_t from, uint64_t to, double part)
{
    const struct sharing *sharing = data;
    const struct hm_watch_hit *hit = sharing->hit;
    struct hm_watch_heat *heat = &sharing->watch->heat[range->entry];
    heat->samples += part * hit->samples;
    heat->reads += part * hit->reads;
    heat->writes += part * hit->writes;
    hm_spread_slices(heat, range, from, to, part * (hit->reads + hit->writes));
}

void hm_watch_hit(struct hm_watch *watch, pid_t pid, const struct hm_watch_hit *hit)
{
    struct sharing sharing = {watch, hit};
    struct hm_watched *watched = NULL;
    double given = 0, accesses = hit->reads + hit->writes;
    for (size_t i = 0; i < watch->n && !watched; i++)
        if (watch->watched[i].process.pid == pid)
            watched = &watch->watched[i];
    if (watched) {
        hm_watch_refresh(watch, watched);
        given = hm_spread(&watched->now, hit->start, hit->end, hit->mapped, take_part, &sharing);
        if (given == 0) /* it may have been freed since */
            given = hm_spread(&watched->before, hit->start, hit->end, hit->mapped, take_part, &sharing);
    }
    watch->samples += hit->samples;
    watch->elsewhere += (given < 1 ? 1 - given : 0) * accesses;
    watch->saturated += hit->is_saturated ? accesses : 0;
}

void hm_watch_forget_hits(struct hm_watch *watch)
{
    watch->samples = watch->elsewhere = watch->saturated = 0;
    for (int i = 0; i < HM_SITES_ENTRIES; i++) {
        struct hm_watch_heat *heat = &watch->heat[i];
        heat->samples = heat->reads = heat->writes = 0;
        memset(heat->large.accesses, 0, sizeof(heat->large.accesses));
        memset(heat->ordered.accesses, 0, sizeof(heat->ordered.accesses));
    }
}
