/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a site of a profile: each figure is checked before it is believed. */
#include "takesite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void take_frames(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site, size_t n_objects)
{
    const json_t *frames = json_object_get(from, "frames");
    size_t n = json_array_size(frames);
    if (!json_is_array(frames) || n > HM_PROFILE_DEPTH) {
        hm_take_fail(taker, "frames", "an array of at most 10 objects");
        return;
    }
    for (size_t i = 0; i < n && !taker->has_failed; i++) {
        const json_t *frame = json_array_get(frames, i);
        bool is_nowhere = json_is_null(json_object_get(frame, "object"));
        site->frame[i].object = is_nowhere ? -1 : (int)hm_take_count(taker, frame, "object", 0, (int64_t)n_objects - 1);
        site->frame[i].offset = (uint64_t)hm_take_count(taker, frame, "offset", 0, INT64_MAX);
    }
    site->n_frames = (int)n;
}

static uint64_t take_id(struct hm_taker *taker, const json_t *from)
{
    const char *text = json_string_value(json_object_get(from, "id"));
    if (text && strlen(text) == 16 && hm_take_is_hexadecimal(text))
        return strtoull(text, NULL, 16);
    hm_take_fail(taker, "id", "16 lower-case hexadecimal digits");
    return 0;
}

/* Profiles of before ids were told apart do not have the member. */
static bool take_given(struct hm_taker *taker, const json_t *from)
{
    const json_t *given = json_object_get(from, "given");
    if (given && !json_is_boolean(given))
        hm_take_fail(taker, "given", "true or false");
    return json_is_true(given);
}

/* Returns whether the value is an array of bytes, each at most `most`. */
static bool take_parts(const json_t *series, uint64_t most, uint64_t bytes[HM_PROFILE_PARTS])
{
    if (json_array_size(series) != HM_PROFILE_PARTS)
        return false;
    for (size_t i = 0; i < HM_PROFILE_PARTS; i++) {
        const json_t *value = json_array_get(series, i);
        json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
        if (number < 0 || (uint64_t)number > most)
            return false;
        bytes[i] = (uint64_t)number;
    }
    return true;
}

/* Profiles of before there were series do not have the member. */
static void take_series(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
{
    const json_t *series = json_object_get(from, "series");
    site->has_series = take_parts(series, site->peak_bytes, site->series);
    if (series && !json_is_null(series) && !site->has_series)
        hm_take_fail(taker, "series", "an array of 32 whole numbers from 0 to peak_bytes, or null");
}

/* Profiles of before it was recorded do not have the member. Without a series it says nothing. */
static void take_alive(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
{
    const json_t *given = json_object_get(from, "alive");
    const json_t *first = json_object_get(given, "from"), *last = json_object_get(given, "to");
    if (!given || json_is_null(given))
        return;
    struct hm_profile_alive alive = {json_number_value(first), json_number_value(last)};
    if (!json_is_number(first) || !json_is_number(last) || !(alive.from >= 0 && alive.from < alive.to && alive.to <= 1))
        hm_take_fail(taker, "alive", "from and to, shares of the run of which to is the larger one, or null");
    else if (site->has_series)
        site->alive = alive;
}

/* A set of slices, by their numbers in ascending order; null: 0. Returns false where it is none. */
static bool take_set(const json_t *numbers, uint32_t *set)
{
    json_int_t least = 0;
    *set = 0;
    if (json_is_null(numbers))
        return true;
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        const json_t *value = json_array_get(numbers, i);
        json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
        if (number < least || number >= HM_SLICES)
            return false;
        *set |= UINT32_C(1) << number;
        least = number + 1;
    }
    return *set != 0;
}

/* Profiles of before page maps were looked at do not have the member. */
static void take_resident(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
{
    const json_t *given = json_object_get(from, "resident");
    struct hm_profile_resident *resident = &site->resident;
    if (!given || json_is_null(given))
        return;
    const json_t *peak = json_object_get(given, "peak_bytes"), *mean = json_object_get(given, "mean_bytes");
    json_int_t bytes = json_is_integer(peak) ? json_integer_value(peak) : -1;
    resident->is_known = bytes >= 0 && (uint64_t)bytes <= site->peak_bytes && json_is_number(mean) &&
                         json_number_value(mean) >= 0 && json_number_value(mean) <= (double)bytes &&
                         take_parts(json_object_get(given, "series"), (uint64_t)bytes, resident->series) &&
                         take_set(json_object_get(given, "slices"), &resident->slices);
    if (!resident->is_known) {
        hm_take_fail(taker, "resident", "peak_bytes, mean_bytes and series of at most the site's, and slices, or null");
        return;
    }
    resident->peak_bytes = (uint64_t)bytes;
    resident->mean_bytes = json_number_value(mean);
}

/* Without `step_bytes`, each allocation has slices of its own. */
static int count_slices(struct hm_taker *taker, const json_t *from, struct hm_slices *slices)
{
    slices->step_bytes = hm_take_count_or_null(taker, from, "step_bytes", 1);
    slices->extent_bytes = hm_take_count_or_null(taker, from, "extent_bytes", 1);
    slices->is_known = (slices->step_bytes > 0) == (slices->extent_bytes > 0) &&
                       (slices->extent_bytes == 0 || (slices->extent_bytes - 1) / HM_SLICES < slices->step_bytes);
    return hm_slices_count(slices);
}

/* Profiles of before there were slices do not have the member; those of before it was noted, no samples in it, which
 * are the site's then: NaN. */
static void take_slices(struct hm_taker *taker, const json_t *from, struct hm_slices *slices)
{
    const json_t *given = json_object_get(from, "slices"), *accesses = json_object_get(given, "accesses");
    if (!given || json_is_null(given))
        return;
    int n = json_is_object(given) ? count_slices(taker, given, slices) : 0;
    slices->is_known = n > 0 && json_array_size(accesses) == (size_t)n;
    for (int i = 0; i < n && slices->is_known; i++) {
        const json_t *value = json_array_get(accesses, (size_t)i);
        slices->accesses[i] = json_number_value(value);
        slices->is_known =
            json_is_number(value) && slices->accesses[i] >= 0 && slices->accesses[i] <= (double)HM_PROFILE_MOST;
    }
    slices->samples = json_object_get(given, "samples") ? hm_take_real(taker, given, "samples") : NAN;
    if (!slices->is_known)
        hm_take_fail(taker, "slices", "accesses of at most 32 slices, of step_bytes each up to extent_bytes, or null");
}

void hm_profile_take_counted(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
{
    const json_t *bounds = json_object_get(from, "confidence");
    site->counted = (struct hm_profile_bounds){NAN, NAN};
    if (json_is_null(bounds))
        return;
    double low = hm_take_real(taker, bounds, "low"), high = hm_take_real(taker, bounds, "high");
    if (low <= high && high <= 1)
        site->counted = (struct hm_profile_bounds){low, high};
    else
        hm_take_fail(taker, "confidence", "bounds from 0 to 1, or null");
}

/* Where reads and writes are not told apart, both are null. */
static void take_accesses(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
{
    site->reads = hm_take_real_or_null(taker, from, "reads");
    site->writes = hm_take_real_or_null(taker, from, "writes");
    site->is_untold = isnan(site->reads) && isnan(site->writes) && json_is_number(json_object_get(from, "accesses"));
    if (!site->is_untold)
        return;
    site->reads = hm_take_real(taker, from, "accesses");
    site->writes = 0;
}

void hm_profile_take_site(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site, size_t n_objects)
{
    site->id = take_id(taker, from);
    site->is_given = take_given(taker, from);
    site->class_bytes = hm_take_count_or_null(taker, from, "class_bytes", 1);
    take_frames(taker, from, site, n_objects);
    site->allocations = (uint64_t)hm_take_count(taker, from, "allocations", 0, HM_PROFILE_MOST);
    site->peak_bytes = (uint64_t)hm_take_count(taker, from, "peak_bytes", 0, HM_PROFILE_MOST);
    take_series(taker, from, site);
    take_alive(taker, from, site);
    take_resident(taker, from, site);
    take_slices(taker, from, &site->slices);
    site->mean_bytes = hm_take_real(taker, from, "mean_bytes");
    site->lifetime_s = hm_take_real_or_null(taker, from, "lifetime_s");
    take_accesses(taker, from, site);
    site->samples = hm_take_real_or_null(taker, from, "samples");
    if (isnan(site->slices.samples))
        site->slices.samples = fmax(site->samples, 0); /* none, where that is not known either */
}
