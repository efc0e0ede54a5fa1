/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include <stdlib.h>

#include "base/amount.h"

#define SLOTS 256                        /* of equal length, which doubles when the program goes on */
#define SLOT_NS (UINT64_C(20) * 1000000) /* the first length: that of a look */

struct hm_series {
    uint64_t slot_ns;
    size_t last;                     /* the slot of the last look */
    uint64_t peak[HM_SITES_ENTRIES]; /* as the last look has seen it */
    uint64_t most[HM_SITES_ENTRIES][SLOTS];
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

/* Makes the slots twice as long. */
static void double_slots(struct hm_series *series, const struct hm_sites_table *table)
{
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        uint64_t *most = series->most[i];
        if (!is_used(&table->entry[i]))
            continue;
        for (size_t slot = 0; slot < SLOTS; slot++)
            most[slot] = slot < SLOTS / 2 ? hm_most(most[2 * slot], most[2 * slot + 1]) : 0;
    }
    series->slot_ns *= 2;
    series->last /= 2;
}

void hm_series_look(struct hm_series *series, const struct hm_watch *watch)
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
        for (size_t slot = series->last; slot <= now; slot++)
            series->most[i][slot] = hm_most(series->most[i][slot], bytes);
    }
    series->last = now;
}

/* The slots as parts of the whole time. A slot that lies in two parts counts for both. */
static void report(const struct hm_series *series, size_t entry, uint64_t all_ns, struct hm_profile_site *site)
{
    const uint64_t *most = series->most[entry];
    double part_ns = (double)all_ns / HM_PROFILE_PARTS;
    for (size_t part = 0; part < HM_PROFILE_PARTS; part++) {
        size_t first = (size_t)((double)part * part_ns / (double)series->slot_ns);
        double end = (double)(part + 1) * part_ns / (double)series->slot_ns;
        for (size_t slot = first; slot < SLOTS && (slot == first || (double)slot < end); slot++)
            site->series[part] = hm_most(site->series[part], hm_least(most[slot], site->peak_bytes));
    }
    site->has_series = true;
}

void hm_series_report(const struct hm_series *series, const struct hm_watch *watch, struct hm_profile *profile)
{
    size_t at = 0; /* the profile has the sites in the table's order */
    for (size_t i = 0; series && i < HM_SITES_ENTRIES && at < profile->n_sites; i++)
        if (is_used(&watch->table->entry[i]) && watch->table->entry[i].id == profile->site[at].id)
            report(series, i, watch->looked_ns - watch->began_ns, &profile->site[at++]);
}
