/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/marks.h"
#include "base/pagesize.h"
#include "migrator/move/present.h"

#define WINDOW 512 /* pages that are looked up together */
#define WORDS (WINDOW / 64)
#define WINDOWS 2048 /* that a look has about; 4 GiB: some milliseconds */

struct look {
    struct hm_watch_resident *resident;
    int pagemap;
    uint64_t every; /* of so many windows, one is looked at */
    uint64_t window;
    uint64_t bits[WORDS]; /* its pages that are resident */
    bool has_window;
    double looked[HM_SITES_ENTRIES], found[HM_SITES_ENTRIES]; /* bytes of each site */
};

static uint64_t window_bytes(void)
{
    return WINDOW * hm_page_size();
}

/* ---------------------------------------------------------- page maps */

static void set_pages(struct look *look, uint64_t first, uint64_t end)
{
    for (uint64_t page = first; page < end && page < WINDOW; page++)
        look->bits[page / 64] |= UINT64_C(1) << page % 64;
}

/* Looks a window up by PAGEMAP_SCAN, without the zero page. Returns false where the kernel does not have it, or a
 * container forbids it. */
static bool scan(struct look *look, uint64_t start, bool *is_there)
{
    struct hm_present_range range[WINDOW];
    struct hm_present_scan request = {
        .size = sizeof(request),
        .start = start,
        .end = start + window_bytes(),
        .vec = (uintptr_t)range,
        .vec_len = WINDOW,
        .category_inverted = HM_PRESENT_IS_ZERO,
        .category_mask = HM_PRESENT_IS_ZERO,
        .category_anyof_mask = HM_PRESENT_IS_PRESENT | HM_PRESENT_IS_SWAPPED,
        .return_mask = HM_PRESENT_IS_PRESENT,
    };
    int n = ioctl(look->pagemap, HM_PRESENT_SCAN, &request);
    if (n < 0 && (errno == ENOTTY || errno == EINVAL || errno == EPERM))
        return false;
    *is_there = n >= 0;
    for (int i = 0; i < n; i++)
        set_pages(look, (range[i].start - start) >> hm_page_shift(), (range[i].end - start) >> hm_page_shift());
    return true;
}

static bool read_map(struct look *look, uint64_t start)
{
    uint64_t entry[WINDOW];
    ssize_t length = pread(look->pagemap, entry, sizeof(entry), (off_t)((start >> hm_page_shift()) * sizeof(entry[0])));
    for (size_t i = 0; length > 0 && i < (size_t)length / sizeof(entry[0]); i++)
        if (entry[i] & (HM_MARK_PRESENT | HM_MARK_SWAPPED))
            set_pages(look, i, i + 1);
    return length > 0;
}

/* Looks the pages of a window up. Returns false where there is no such process any more. */
static bool look_up(struct look *look, uint64_t window)
{
    struct hm_watch_resident *resident = look->resident;
    uint64_t start = window * window_bytes();
    bool is_there = false;
    if (look->has_window && look->window == window)
        return true;
    memset(look->bits, 0, sizeof(look->bits));
    look->has_window = true;
    look->window = window;
    if (resident->has_scan && scan(look, start, &is_there))
        return is_there;
    resident->has_scan = false;
    return read_map(look, start);
}

/* ---------------------------------------------------------- sites */

/* The bytes of a range from `from` to `to`, of one window, that are in its resident pages; notes their slices. */
static uint64_t count(const struct look *look, const struct hm_watch_range *range, uint64_t from, uint64_t to)
{
    uint64_t bytes = 0, block_bytes = range->end - range->start;
    uint64_t page_bytes = hm_page_size(), start = look->window * window_bytes();
    for (uint64_t page = (from - start) >> hm_page_shift(); start + page * page_bytes < to; page++) {
        if (!(look->bits[page / 64] >> page % 64 & 1))
            continue;
        uint64_t first = hm_most(from, start + page * page_bytes), end = hm_least(to, start + (page + 1) * page_bytes);
        bytes += end - first;
        if (block_bytes >= HM_SLICES_LARGE)
            look->resident->site[range->entry].slices |=
                UINT32_C(1) << hm_slices_of_block(block_bytes, first - range->start, end - first);
    }
    return bytes;
}

/* Do the windows that are looked at tell which slices of the range are touched? */
static bool tells_slices(const struct look *look, const struct hm_watch_range *range)
{
    uint64_t bytes = range->end - range->start;
    bool is_seen = look->every == 1 || bytes / HM_SLICES >= look->every * window_bytes();
    return bytes >= HM_SLICES_LARGE && !range->is_shared && is_seen;
}

/* Is the memory counted here? Its first part may be another's, where the program has written what is not so. */
static bool is_counted(const struct hm_watch_range *range, uint64_t before, uint64_t *start)
{
    *start = hm_most(range->start, before);
    return !range->is_inherited && range->end > *start && range->end < (UINT64_C(1) << 63);
}

/* Adds what is resident of a range, from the windows that are looked at. Returns false as look_up. */
static bool add(struct look *look, const struct hm_watch_range *range, uint64_t start)
{
    uint64_t bytes = window_bytes(), last = (range->end - 1) / bytes, window = start / bytes;
    look->resident->site[range->entry].is_whole |= !tells_slices(look, range);
    window += (look->every - (window + look->resident->phase) % look->every) % look->every;
    for (; window <= last; window += look->every) {
        uint64_t from = hm_most(start, window * bytes), to = hm_least(range->end, (window + 1) * bytes);
        if (!range->is_shared && !look_up(look, window))
            return false;
        look->looked[range->entry] += (double)(to - from);
        look->found[range->entry] += range->is_shared ? (double)(to - from) : (double)count(look, range, from, to);
    }
    return true;
}

/* Looks at one process. Returns false where its page map cannot be read. */
static bool look_at(struct look *look, const struct hm_watched *watched)
{
    char path[64];
    uint64_t before = 0, start;
    bool is_read = true;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)watched->process.pid);
    look->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    look->has_window = false;
    for (size_t i = 0; i < watched->now.n && is_read; i++) {
        const struct hm_watch_range *range = &watched->now.range[i];
        if (!is_counted(range, before, &start))
            continue;
        is_read = look->pagemap >= 0 && add(look, range, start);
        before = range->end;
    }
    if (look->pagemap >= 0)
        close(look->pagemap);
    return is_read;
}

/* Reads what the processes have, and sums it up by site. Returns how many windows that has. */
static uint64_t sum(struct hm_watch *watch, double seen[HM_SITES_ENTRIES])
{
    uint64_t windows = 0;
    for (size_t i = 0; i < watch->n; i++) {
        uint64_t before = 0, start, bytes = window_bytes();
        hm_watch_refresh(watch, &watch->watched[i]);
        const struct hm_watch_ranges *ranges = &watch->watched[i].now;
        for (size_t k = 0; k < ranges->n; k++) {
            const struct hm_watch_range *range = &ranges->range[k];
            if (!is_counted(range, before, &start))
                continue;
            windows += (range->end - 1) / bytes - start / bytes + (start / bytes != (before - 1) / bytes);
            seen[range->entry] += (double)(range->end - start);
            before = range->end;
        }
    }
    return windows;
}

/* A site that is in none of the windows counts in full: where there are too many, it is small. */
static void conclude(const struct look *look, const double seen[HM_SITES_ENTRIES])
{
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        double share = look->looked[i] > 0 ? look->found[i] / look->looked[i] : 1;
        look->resident->site[i].bytes = seen[i];
        look->resident->site[i].resident_bytes = share * seen[i];
    }
}

static bool look(struct hm_watch_resident *resident, struct hm_watch *watch)
{
    static struct look look;
    static double seen[HM_SITES_ENTRIES];
    memset(&look, 0, sizeof(look));
    memset(seen, 0, sizeof(seen));
    look.resident = resident;
    look.every = sum(watch, seen) / WINDOWS + 1;
    for (size_t i = 0; i < watch->n; i++)
        if (!look_at(&look, &watch->watched[i]))
            return false;
    conclude(&look, seen);
    return true;
}

void hm_watch_resident_begin(struct hm_watch_resident *resident, double cpus, uint64_t seed)
{
    *resident = (struct hm_watch_resident){
        .share = HM_WATCH_RESIDENT_SHARE * cpus, .has_scan = true, .phase = seed % (UINT64_C(1) << 32)};
}

bool hm_watch_resident_look(struct hm_watch_resident *resident, struct hm_watch *watch)
{
    double passed_s = (double)(watch->looked_ns - watch->began_ns) / 1e9, start_s = hm_clock_s(CLOCK_THREAD_CPUTIME_ID);
    if (resident->spent_s + resident->cost_s > resident->share * passed_s)
        return false;
    bool has_looked = look(resident, watch);
    resident->cost_s = hm_clock_s(CLOCK_THREAD_CPUTIME_ID) - start_s;
    resident->spent_s += resident->cost_s;
    resident->n_looks += has_looked;
    return has_looked;
}
