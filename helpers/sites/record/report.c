/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the profile of what was recorded. Nothing that the program could have written is believed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/random.h"
#include "watch.h"

/* Bytes that were allocated, of those that there were at one time: beyond that, memory of a slice was used again for
 * data of another. */
#define MOST_AGAIN 1.25
#define LEAST_OF_KIND 0.9 /* of a site's accesses: those of the other kind are in no slice, and so in the slow tier */

/* Number of each of the table's objects in the profile; -1: it is none. */
struct numbers {
    int object[HM_SITES_OBJECTS + 1];
};

static int add_object(const struct hm_sites_object *from, struct hm_profile *profile)
{
    char build_id[HM_BUILDID_TEXT];
    struct hm_profile_object *to = &profile->object[profile->n_objects];
    hm_buildid_text(from->id, hm_least(from->id_length, HM_BUILDID_MOST), build_id);
    to->path = strndup(from->path, HM_SITES_PATH - 1);
    to->build_id = build_id[0] ? strdup(build_id) : NULL;
    profile->n_objects++;
    return to->path && (to->build_id || !build_id[0]) ? 0 : -1;
}

static int add_objects(const struct hm_sites_table *table, struct hm_profile *profile, struct numbers *numbers)
{
    profile->object = calloc(HM_SITES_OBJECTS, sizeof(*profile->object));
    numbers->object[HM_SITES_OBJECTS] = -1;
    for (int i = 0; i < HM_SITES_OBJECTS && profile->object; i++) {
        numbers->object[i] = -1;
        if (table->object[i].state != HM_SITES_FILLED)
            continue;
        numbers->object[i] = (int)profile->n_objects;
        if (add_object(&table->object[i], profile) < 0)
            return -1;
    }
    return profile->object ? 0 : -1;
}

/* A number of the table, or 0 where it can be none. */
static uint64_t count_of(int64_t value)
{
    return value > 0 && value <= HM_PROFILE_MOST ? (uint64_t)value : 0;
}

static double real_of(double value)
{
    return value >= 0 && value <= (double)HM_PROFILE_MOST ? value : 0;
}

static bool is_used(const struct hm_sites_entry *entry)
{
    return entry->id != 0 && entry->state == HM_SITES_FILLED;
}

static double sum_of(const struct hm_slices *slices)
{
    double sum = 0;
    for (int i = 0; i < HM_SLICES; i++)
        sum += slices->accesses[i];
    return sum;
}

/* Slices in their order say where data is only as long as hardly any of it is freed and allocated again. */
static bool is_in_order(const struct hm_sites_entry *entry)
{
    return (double)entry->ordered_bytes <= (double)entry->peak_bytes * MOST_AGAIN;
}

/* The slices of a site, where nearly all of its accesses are in those of one kind. Memory that mremap or realloc has
 * given another size has its slices by the size at the time of an access. It would be placed by that of the allocation,
 * or all of it anew with each size: there are none. */
static struct hm_slices slices_of(const struct hm_watch *watch, int at)
{
    const struct hm_watch_heat *heat = &watch->heat[at];
    double large = sum_of(&heat->large), ordered = sum_of(&heat->ordered);
    struct hm_slices slices = large > ordered ? heat->large : heat->ordered;
    slices.is_known = watch->table->entry[at].is_resized == 0 &&
                      (large > ordered || is_in_order(&watch->table->entry[at])) &&
                      fmax(large, ordered) > (large + ordered) * LEAST_OF_KIND;
    slices.samples = heat->samples;
    return slices.is_known ? slices : (struct hm_slices){.is_known = false};
}

static void add_site(const struct hm_watch *watch, int at, const struct numbers *numbers,
                     const struct hm_watch_sampled *sampled, struct hm_profile *profile)
{
    const struct hm_sites_entry *from = &watch->table->entry[at];
    struct hm_profile_site *to = &profile->site[profile->n_sites++];
    uint64_t ended = from->ended;
    to->id = from->id;
    to->is_given = from->is_given != 0;
    to->n_frames = (int)hm_least(from->n_frames, HM_PROFILE_DEPTH);
    for (int i = 0; i < to->n_frames; i++) {
        to->frame[i].object = numbers->object[hm_least(from->frame[i].object, HM_SITES_OBJECTS)];
        to->frame[i].offset = to->frame[i].object < 0 ? 0 : hm_least(from->frame[i].offset, INT64_MAX);
    }
    to->allocations = count_of((int64_t)from->allocations);
    to->peak_bytes = count_of(from->peak_bytes);
    to->mean_bytes = real_of(from->byte_s / profile->elapsed_s);
    to->lifetime_s = ended > 0 ? real_of(from->lifetime_s / (double)ended) : NAN;
    to->samples = sampled->is_known ? watch->heat[at].samples : NAN;
    to->reads = sampled->is_known ? watch->heat[at].reads : NAN;
    to->writes = sampled->is_known ? watch->heat[at].writes : NAN;
    to->is_untold = sampled->is_known && sampled->is_looked;
    if (sampled->is_known)
        to->slices = slices_of(watch, at);
}

static void add_class(const struct hm_watch *watch, unsigned class_number, struct hm_profile *profile)
{
    const struct hm_watch_class *from = &watch->class[class_number];
    if (from->allocations == 0)
        return;
    profile->site[profile->n_sites++] = (struct hm_profile_site){
        .id = hm_sites_class_id(class_number),
        .class_bytes = (uint64_t)HM_SITES_CLASS << class_number,
        .allocations = hm_least(from->allocations, HM_PROFILE_MOST),
        .peak_bytes = hm_least(from->peak_bytes, HM_PROFILE_MOST),
        .mean_bytes = real_of(from->byte_s / profile->elapsed_s),
        .lifetime_s = NAN,
        .samples = NAN,
        .reads = NAN,
        .writes = NAN,
    };
}

int hm_watch_report(const struct hm_watch *watch, const struct hm_watch_sampled *sampled, struct hm_profile *profile)
{
    const struct hm_sites_table *table = watch->table;
    struct numbers numbers;
    profile->elapsed_s = (double)(watch->looked_ns - watch->began_ns) / 1e9;
    profile->least_bytes = watch->least_bytes;
    profile->processes = count_of((int64_t)table->processes);
    profile->left_out = count_of((int64_t)table->left_out);
    profile->peak_bytes = hm_least(watch->peak_bytes, HM_PROFILE_MOST);
    profile->samples = sampled->is_known ? watch->samples : NAN;
    profile->elsewhere = sampled->is_known ? watch->elsewhere : NAN;
    profile->saturated = sampled->is_known && sampled->is_looked ? watch->saturated : NAN;
    size_t n = 0;
    for (int i = 0; i < HM_SITES_ENTRIES; i++)
        n += is_used(&table->entry[i]);
    profile->site = calloc(n + HM_SITES_CLASSES, sizeof(*profile->site));
    if (!profile->site || add_objects(table, profile, &numbers) < 0) {
        errno = ENOMEM;
        return -1;
    }
    for (int i = 0; i < HM_SITES_ENTRIES && profile->n_sites < n; i++)
        if (is_used(&table->entry[i]))
            add_site(watch, i, &numbers, sampled, profile);
    for (unsigned c = 0; c < HM_SITES_CLASSES; c++)
        add_class(watch, c, profile);
    return 0;
}
