/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the JSON of a profile. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/draw/figures.h"
#include "profile.h"

/* A text that may not be UTF-8, as a path; NULL: null. Bytes above ASCII become '?' where they are none. */
static json_t *text_of(const char *text)
{
    char safe[HM_PROFILE_TEXT];
    size_t n = 0;
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    if (value)
        return value;
    for (; text[n] && n < sizeof(safe) - 1; n++)
        safe[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
    safe[n] = '\0';
    return json_string(safe);
}

static json_t *count_of(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *frames_of(const struct hm_profile_site *site)
{
    json_t *frames = json_array();
    for (int i = 0; i < site->n_frames; i++) {
        const struct hm_profile_frame *frame = &site->frame[i];
        json_array_append_new(frames, json_pack("{s:o, s:o}", "object",
                                                frame->object < 0 ? json_null() : json_integer(frame->object), "offset",
                                                count_of(frame->offset)));
    }
    return hm_figures_whole(frames, (size_t)site->n_frames);
}

static json_t *series_of(const uint64_t bytes[HM_PROFILE_PARTS])
{
    json_t *series = json_array();
    for (int i = 0; i < HM_PROFILE_PARTS; i++)
        json_array_append_new(series, count_of(bytes[i]));
    return hm_figures_whole(series, HM_PROFILE_PARTS);
}

static json_t *alive_of(const struct hm_profile_site *site)
{
    const struct hm_profile_alive *alive = &site->alive;
    return alive->from < alive->to ? json_pack("{s:f, s:f}", "from", alive->from, "to", alive->to) : json_null();
}

/* Their numbers, or null. */
static json_t *touched_of(const struct hm_profile_resident *resident)
{
    json_t *touched = json_array();
    for (int i = 0; i < HM_SLICES; i++)
        if (resident->slices >> i & 1)
            json_array_append_new(touched, json_integer(i));
    if (resident->slices != 0)
        return hm_figures_whole(touched, (size_t)__builtin_popcount(resident->slices));
    json_decref(touched);
    return json_null();
}

static json_t *resident_of(const struct hm_profile_resident *resident)
{
    if (!resident->is_known)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "peak_bytes", count_of(resident->peak_bytes), "mean_bytes",
                     hm_figures_real(resident->mean_bytes), "series", series_of(resident->series), "slices",
                     touched_of(resident));
}

static json_t *slices_of(const struct hm_profile_site *site)
{
    const struct hm_slices *slices = &site->slices;
    int n = hm_slices_count(slices);
    if (n == 0)
        return json_null();
    json_t *accesses = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(accesses, hm_figures_real(slices->accesses[i]));
    return json_pack("{s:o, s:o, s:o, s:f}", "step_bytes",
                     slices->step_bytes ? count_of(slices->step_bytes) : json_null(), "extent_bytes",
                     slices->step_bytes ? count_of(slices->extent_bytes) : json_null(), "accesses",
                     hm_figures_whole(accesses, (size_t)n), "samples", slices->samples);
}

static json_t *confidence_of(const struct hm_profile *profile, double all, const struct hm_profile_site *site)
{
    struct hm_profile_bounds bounds = hm_profile_confidence(profile, all, site);
    return isnan(bounds.low) ? json_null() : json_pack("{s:f, s:f}", "low", bounds.low, "high", bounds.high);
}

static json_t *site_of(const struct hm_profile *profile, double all, const struct hm_profile_site *site)
{
    char id[17];
    snprintf(id, sizeof(id), "%016" PRIx64, site->id);
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", id,
                     "given", site->is_given, "frames", frames_of(site), "class_bytes",
                     site->class_bytes ? count_of(site->class_bytes) : json_null(), "allocations",
                     count_of(site->allocations), "peak_bytes", count_of(site->peak_bytes), "mean_bytes",
                     hm_figures_real(site->mean_bytes), "series",
                     site->has_series ? series_of(site->series) : json_null(), "alive", alive_of(site), "resident",
                     resident_of(&site->resident), "slices", slices_of(site), "lifetime_s",
                     hm_figures_real(site->lifetime_s), "accesses", hm_figures_real(hm_profile_accesses(site)), "reads",
                     hm_figures_real(site->is_untold ? NAN : site->reads), "writes",
                     hm_figures_real(site->is_untold ? NAN : site->writes), "samples", hm_figures_real(site->samples),
                     "confidence", confidence_of(profile, all, site));
}

static json_t *functions_of(const struct hm_profile_object *object)
{
    json_t *functions = json_array();
    for (size_t i = 0; i < object->n_functions; i++)
        json_array_append_new(functions, json_pack("{s:o, s:o, s:o}", "name", text_of(object->function[i].name),
                                                   "offset", count_of(object->function[i].start), "bytes",
                                                   count_of(object->function[i].bytes)));
    return hm_figures_whole(functions, object->n_functions);
}

static json_t *objects_of(const struct hm_profile *profile)
{
    json_t *objects = json_array();
    for (size_t i = 0; i < profile->n_objects; i++)
        json_array_append_new(objects, json_pack("{s:o, s:o, s:o}", "build_id", text_of(profile->object[i].build_id),
                                                 "path", text_of(profile->object[i].path), "functions",
                                                 functions_of(&profile->object[i])));
    return hm_figures_whole(objects, profile->n_objects);
}

static json_t *sites_of(const struct hm_profile *profile)
{
    json_t *sites = json_array();
    double all = hm_profile_all_accesses(profile);
    for (size_t i = 0; i < profile->n_sites; i++)
        json_array_append_new(sites, site_of(profile, all, &profile->site[i]));
    return hm_figures_whole(sites, profile->n_sites);
}

json_t *hm_profile_json(const struct hm_profile *profile)
{
    json_t *program =
        json_pack("{s:o, s:o, s:o, s:o}", "command", text_of(profile->command), "path", text_of(profile->program),
                  "build_id", text_of(profile->build_id), "input_class", text_of(profile->class_text));
    json_t *sampling =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "source", text_of(profile->source), "why",
                  text_of(profile->why), "unit", profile->unit ? count_of(profile->unit) : json_null(), "samples",
                  hm_figures_real(profile->samples), "elsewhere", hm_figures_real(profile->elsewhere), "saturated",
                  hm_figures_real(profile->saturated), "lost", profile->source ? count_of(profile->lost) : json_null());
    return json_pack("{s:i, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "program",
                     program, "start", text_of(profile->start), "elapsed_s", profile->elapsed_s, "exit_code",
                     profile->exit_code < 0 ? json_null() : json_integer(profile->exit_code), "least_bytes",
                     count_of(profile->least_bytes), "processes", count_of(profile->processes), "peak_bytes",
                     count_of(profile->peak_bytes), "resident_peak_bytes",
                     profile->has_resident_peak ? count_of(profile->resident_peak_bytes) : json_null(), "left_out",
                     count_of(profile->left_out), "sampling", sampling, "objects", objects_of(profile), "sites",
                     sites_of(profile));
}
