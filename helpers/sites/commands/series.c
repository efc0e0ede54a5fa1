/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"

#define SLOTS 256                        /* of equal length, which doubles when the program goes on */
#define SLOT_NS (UINT64_C(20) * 1000000) /* the first length: that of a look */
/* What is touched between the last look at page maps and the end is not seen: that may be so much of the run, and of
 * the life of a site's allocations. */
#define UNSEEN 0.25

/* A site between two looks at page maps. */
struct between {
    uint64_t most;                    /* bytes that it has had since the last one */
    struct hm_watch_seen seen;        /* by the last one, and its slices by all */
    double looked_byte_s, resident_s; /* byte seconds that were looked at, and those of them that were resident */
};

struct hm_series {
    uint64_t slot_ns;
    size_t last;                     /* the slot of the last look */
    size_t seen;                     /* the slot of the last look at page maps */
    uint64_t seen_ns;                /* its time */
    uint64_t gap_ns;                 /* the longest time between two of them */
    bool is_known;                   /* there were such looks, nearly up to the end */
    uint64_t small_most;             /* bytes that small allocations have had since */
    uint64_t resident_peak;          /* of all sites, and of small allocations */
    uint64_t peak[HM_SITES_ENTRIES]; /* as the last look has seen it */
    uint64_t live[HM_SITES_ENTRIES]; /* the same */
    uint64_t most[HM_SITES_ENTRIES][SLOTS];
    uint64_t resident[HM_SITES_ENTRIES][SLOTS];
    struct between between[HM_SITES_ENTRIES];
};

struct hm_series *hm_series_open(void)
{
    struct hm_series *series = calloc(1, sizeof(*series)); /* pages of sites that are not there are never touched */
    if (series)
        series->slot_ns = SLOT_NS;
    return series;
}

void hm_series_close(struct hm_series *series)
{
    free(series);
}

/* Is there a site, which a profile has, too? */
static bool is_used(const struct hm_sites_entry *entry)
{
    return entry->id != 0 && entry->state == HM_SITES_FILLED;
}

/* A number that the program may have written. */
static uint64_t bytes_of(int64_t value)
{
    return value > 0 && value <= HM_PROFILE_MOST ? (uint64_t)value : 0;
}

static void halve(uint64_t most[SLOTS])
{
    for (size_t slot = 0; slot < SLOTS; slot++)
        most[slot] = slot < SLOTS / 2 ? hm_most(most[2 * slot], most[2 * slot + 1]) : 0;
}

/* Makes the slots twice as long. */
static void double_slots(struct hm_series *series, const struct hm_sites_table *table)
{
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++)
        if (is_used(&table->entry[i])) {
            halve(series->most[i]);
            halve(series->resident[i]);
        }
    series->slot_ns *= 2;
    series->last /= 2;
    series->seen /= 2;
}

static void raise(uint64_t most[SLOTS], size_t first, size_t last, uint64_t bytes)
{
    for (size_t slot = first; slot <= last; slot++)
        most[slot] = hm_most(most[slot], bytes);
}

/* The slot of a time that the program has noted: any at all, and not before 0. */
static size_t slot_of(const struct hm_series *series, const struct hm_watch *watch, int64_t noted_ns)
{
    return noted_ns > 0 ? (size_t)(hm_less((uint64_t)noted_ns, watch->began_ns) / series->slot_ns) : 0;
}

/* What a look finds of a site can have been there since the last look, but not before the site began. What was there at
 * the last look, of which some has ended, can have been there until the site's last end. */
static void raise_between(struct hm_series *series, const struct hm_watch *watch, size_t at, size_t now, uint64_t bytes)
{
    const struct hm_sites_entry *entry = &watch->table->entry[at];
    size_t born = series->live[at] > 0 ? 0 : slot_of(series, watch, entry->born_ns);
    size_t ended = slot_of(series, watch, entry->ended_ns);
    raise(series->most[at], hm_least(hm_most(series->last, born), now), now, bytes);
    if (bytes < series->live[at])
        raise(series->most[at], series->last, hm_least(ended, now), series->live[at]);
}

static uint64_t small_bytes(const struct hm_watch *watch)
{
    uint64_t bytes = 0;
    for (unsigned c = 0; c < HM_SITES_CLASSES; c++)
        bytes += watch->class[c].live_bytes;
    return bytes;
}

/* ---------------------------------------------------------- resident */

/* The most that a site can have had since the last look at page maps: what both looks have not seen counts in full, as
 * it has come and gone between them. */
static uint64_t estimate(const struct between *between, const struct hm_watch_seen *now)
{
    double seen = fmax(between->seen.bytes, now->bytes);
    double bytes = fmax(between->seen.resident_bytes, now->resident_bytes) + fmax((double)between->most - seen, 0);
    return hm_least((uint64_t)fmin(bytes, (double)HM_PROFILE_MOST), between->most);
}

/* Ends the time since the last look at page maps, with what the next one has seen. */
static void end_time(struct hm_series *series, const struct hm_watch *watch, const struct hm_watch_seen *site)
{
    double passed_s = (double)(watch->looked_ns - series->seen_ns) / 1e9;
    series->gap_ns = hm_most(series->gap_ns, watch->looked_ns - series->seen_ns);
    uint64_t all = series->small_most;
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        struct between *between = &series->between[i];
        if (!is_used(&watch->table->entry[i]))
            continue;
        uint64_t bytes = estimate(between, &site[i]);
        raise(series->resident[i], series->seen, series->last, bytes);
        all += bytes;
        between->looked_byte_s += site[i].bytes * passed_s;
        between->resident_s += site[i].resident_bytes * passed_s;
        between->seen.bytes = site[i].bytes;
        between->seen.resident_bytes = site[i].resident_bytes;
        between->seen.slices |= site[i].slices;
        between->seen.is_whole |= site[i].is_whole;
        between->most = bytes_of(watch->table->entry[i].live_bytes);
    }
    series->resident_peak = hm_most(series->resident_peak, all);
    series->small_most = small_bytes(watch);
    series->seen = series->last;
    series->seen_ns = watch->looked_ns;
    series->is_known = true;
}

/* ---------------------------------------------------------- looks */

void hm_series_look(struct hm_series *series, const struct hm_watch *watch, const struct hm_watch_seen *seen)
{
    uint64_t passed_ns = watch->looked_ns - watch->began_ns;
    if (!series)
        return;
    while (passed_ns / series->slot_ns >= SLOTS)
        double_slots(series, watch->table);
    size_t now = (size_t)(passed_ns / series->slot_ns);
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        const struct hm_sites_entry *entry = &watch->table->entry[i];
        if (!is_used(entry))
            continue;
        uint64_t bytes = bytes_of(entry->live_bytes), peak = bytes_of(entry->peak_bytes);
        if (peak > series->peak[i]) /* at some time since the last look */
            series->peak[i] = bytes = peak;
        raise_between(series, watch, i, now, bytes);
        series->live[i] = bytes_of(entry->live_bytes);
        series->between[i].most = hm_most(series->between[i].most, bytes);
    }
    series->last = now;
    series->small_most = hm_most(series->small_most, small_bytes(watch));
    if (series->seen_ns == 0)
        series->seen_ns = watch->began_ns;
    if (seen)
        end_time(series, watch, seen);
}

void hm_series_end(struct hm_series *series, const struct hm_watch *watch)
{
    static const struct hm_watch_seen nothing[HM_SITES_ENTRIES];
    hm_series_look(series, watch, NULL);
    if (!series || !series->is_known)
        return;
    series->is_known =
        (double)(watch->looked_ns - series->seen_ns) <= UNSEEN * (double)(watch->looked_ns - watch->began_ns);
    if (series->is_known)
        end_time(series, watch, nothing);
}

/* ---------------------------------------------------------- report */

/* The slots as parts of the whole time. A slot that lies in two parts counts for both. */
static void divide(const struct hm_series *series, const uint64_t most[SLOTS], uint64_t all_ns, uint64_t limit,
                   uint64_t parts[HM_PROFILE_PARTS])
{
    double part_ns = (double)all_ns / HM_PROFILE_PARTS;
    for (size_t part = 0; part < HM_PROFILE_PARTS; part++) {
        size_t first = (size_t)((double)part * part_ns / (double)series->slot_ns);
        double end = (double)(part + 1) * part_ns / (double)series->slot_ns;
        for (size_t slot = first; slot < SLOTS && (slot == first || (double)slot < end); slot++)
            parts[part] = hm_most(parts[part], hm_least(most[slot], limit));
    }
}

/* The slices that were touched: also where only samples have seen it. 0: not known, as more was touched than they have,
 * or mremap has given memory another size. */
static uint32_t slices_of(const struct hm_watch_seen *seen, bool is_resized, const struct hm_profile_site *site)
{
    uint32_t slices = seen->slices;
    for (int i = 0; i < HM_SLICES && site->slices.is_known && site->slices.step_bytes == 0; i++)
        slices |= (uint32_t)(site->slices.accesses[i] > 0) << i;
    double share = (double)__builtin_popcount(slices) / HM_SLICES;
    bool is_known =
        !seen->is_whole && !is_resized && (double)site->resident.peak_bytes <= ceil((double)site->peak_bytes * share);
    return is_known ? slices : 0;
}

/* Memory that may be gone before a look has seen most of what it touches counts in full. */
static void report_resident(const struct hm_series *series, size_t at, uint64_t all_ns, bool is_resized,
                            struct hm_profile_site *site)
{
    const struct between *between = &series->between[at];
    struct hm_profile_resident *resident = &site->resident;
    resident->is_known = true;
    if (!(site->lifetime_s * 1e9 * UNSEEN >= (double)series->gap_ns)) {
        resident->peak_bytes = site->peak_bytes;
        resident->mean_bytes = fmin(site->mean_bytes, (double)site->peak_bytes);
        memcpy(resident->series, site->series, sizeof(site->series));
        return;
    }
    divide(series, series->resident[at], all_ns, site->peak_bytes, resident->series);
    for (int part = 0; part < HM_PROFILE_PARTS; part++)
        resident->peak_bytes = hm_most(resident->peak_bytes, resident->series[part]);
    double share = between->looked_byte_s > 0 ? between->resident_s / between->looked_byte_s : 1;
    resident->mean_bytes = fmin(site->mean_bytes * share, (double)resident->peak_bytes);
    resident->slices = slices_of(&between->seen, is_resized, site);
}

/* The program can write any times into the table. */
static struct hm_profile_alive alive_of(const struct hm_watch *watch, const struct hm_sites_entry *entry)
{
    double all_ns = (double)(watch->looked_ns - watch->began_ns), began_ns = (double)watch->began_ns;
    double from = fmax(((double)entry->born_ns - began_ns) / all_ns, 0);
    double to = entry->live_bytes > 0 ? 1 : fmin(((double)entry->ended_ns - began_ns) / all_ns, 1);
    return entry->born_ns > 0 && from < to ? (struct hm_profile_alive){from, to} : (struct hm_profile_alive){0, 0};
}

void hm_series_report(const struct hm_series *series, const struct hm_watch *watch, struct hm_profile *profile)
{
    size_t at = 0; /* the profile has the sites in the table's order */
    uint64_t all_ns = watch->looked_ns - watch->began_ns, all = series ? series->resident_peak : 0;
    for (size_t i = 0; series && i < HM_SITES_ENTRIES && at < profile->n_sites; i++) {
        if (!is_used(&watch->table->entry[i]) || watch->table->entry[i].id != profile->site[at].id)
            continue;
        struct hm_profile_site *site = &profile->site[at++];
        divide(series, series->most[i], all_ns, site->peak_bytes, site->series);
        site->has_series = true;
        site->alive = alive_of(watch, &watch->table->entry[i]);
        if (!series->is_known)
            continue;
        report_resident(series, i, all_ns, watch->table->entry[i].is_resized != 0, site);
        all = hm_most(all, site->resident.peak_bytes);
    }
    profile->has_resident_peak = series && series->is_known;
    if (profile->has_resident_peak)
        profile->resident_peak_bytes = hm_least(all, profile->peak_bytes);
}
