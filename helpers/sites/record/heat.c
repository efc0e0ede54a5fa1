/* SPDX-License-Identifier: Apache-2.0 */
/* To which site the accesses to an address belong. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/search.h"
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
                                                 block[i].is_shared != 0};
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

/* Counts accesses to a byte of an allocation by its slice. */
static void slice(struct hm_watch_heat *heat, const struct hm_watch_range *range, uint64_t address, double accesses)
{
    uint64_t bytes = range->end - range->start, before = address - range->start;
    if (bytes >= HM_SLICES_LARGE) {
        heat->large.accesses[hm_slices_of_block(bytes, before, 1)] += accesses;
        return;
    }
    struct hm_slices *ordered = &heat->ordered;
    int at = ordered->step_bytes > 0 ? hm_slices_at(ordered->step_bytes, range->before + before, 1) : HM_SLICES;
    if (at < HM_SLICES) /* else the program has written where it is */
        ordered->accesses[at] += accesses;
}

/* Gives the accesses to the site whose memory it is. Returns false where it is no site's. */
static bool give(struct hm_watch *watch, const struct hm_watch_ranges *ranges, uint64_t address, double reads,
                 double writes)
{
    size_t behind = HM_SEARCH_UPTO(ranges->range, ranges->n, start, address);
    const struct hm_watch_range *range = behind > 0 ? &ranges->range[behind - 1] : NULL;
    if (!range || range->end <= address)
        return false;
    struct hm_watch_heat *heat = &watch->heat[range->entry];
    heat->samples++;
    heat->reads += reads;
    heat->writes += writes;
    slice(heat, range, address, reads + writes);
    return true;
}

void hm_watch_hit(struct hm_watch *watch, pid_t pid, uint64_t address, double reads, double writes)
{
    struct hm_watched *watched = NULL;
    bool is_given = false;
    for (size_t i = 0; i < watch->n && !watched; i++)
        if (watch->watched[i].process.pid == pid)
            watched = &watch->watched[i];
    if (watched) {
        hm_watch_refresh(watch, watched);
        is_given = give(watch, &watched->now, address, reads, writes) ||
                   give(watch, &watched->before, address, reads, writes); /* it may have been freed since */
    }
    watch->samples++;
    watch->elsewhere += is_given ? 0 : reads + writes;
}
