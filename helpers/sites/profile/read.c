/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a profile. Whoever has given it to the user may be hostile: every figure is checked before it is believed. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "profile.h"
#include "take.h"

static void take_program(struct hm_taker *taker, const json_t *from, struct hm_profile *profile)
{
    snprintf(taker->place, HM_TAKE_PLACE, "program.");
    profile->command = hm_take_text(taker, from, "command", false);
    profile->program = hm_take_text(taker, from, "path", false);
    profile->build_id = hm_take_build_id(taker, from);
    profile->class_text = hm_take_text(taker, from, "input_class", true);
}

static void take_sampling(struct hm_taker *taker, const json_t *from, struct hm_profile *profile)
{
    snprintf(taker->place, HM_TAKE_PLACE, "sampling.");
    profile->source = hm_take_line(taker, from, "source", true);
    profile->why = hm_take_line(taker, from, "why", true);
    profile->unit = hm_take_count_or_null(taker, from, "unit", 1);
    profile->samples = hm_take_real_or_null(taker, from, "samples");
    profile->elsewhere = hm_take_real_or_null(taker, from, "elsewhere");
    profile->lost = hm_take_count_or_null(taker, from, "lost", 0);
}

/* Profiles of before functions were kept do not have the member. */
static void take_functions(struct hm_taker *taker, const json_t *from, struct hm_profile_object *object)
{
    const json_t *functions = json_object_get(from, "functions");
    int64_t least = 0; /* they ascend */
    if (functions && (!json_is_array(functions) || json_array_size(functions) > HM_PROFILE_FUNCTIONS))
        hm_take_fail(taker, "functions", "an array of at most 65536 objects");
    for (size_t i = 0; i < json_array_size(functions) && !taker->has_failed; i++) {
        const json_t *function = json_array_get(functions, i);
        char *name = hm_take_text(taker, function, "name", false);
        uint64_t start = (uint64_t)hm_take_count(taker, function, "offset", least, INT64_MAX - 1);
        uint64_t bytes = (uint64_t)hm_take_count(taker, function, "bytes", 1, INT64_MAX);
        if (!taker->has_failed && hm_profile_add_function(object, name, start, bytes) < 0)
            hm_take_fail_memory(taker);
        free(name);
        least = (int64_t)start + 1;
    }
}

static void take_objects(struct hm_taker *taker, const json_t *from, struct hm_profile *profile)
{
    taker->place[0] = '\0';
    const json_t *objects = json_object_get(from, "objects");
    profile->object =
        hm_take_array(taker, from, "objects", HM_PROFILE_OBJECTS, sizeof(*profile->object), &profile->n_objects);
    for (size_t i = 0; i < profile->n_objects && !taker->has_failed; i++) {
        const json_t *object = json_array_get(objects, i);
        snprintf(taker->place, HM_TAKE_PLACE, "objects[%zu].", i);
        profile->object[i].build_id = hm_take_build_id(taker, object);
        profile->object[i].path = hm_take_text(taker, object, "path", false);
        take_functions(taker, object, &profile->object[i]);
    }
}

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

/* Profiles of before there were series do not have the member. */
static void take_series(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
{
    const json_t *series = json_object_get(from, "series");
    site->has_series = json_array_size(series) == HM_PROFILE_PARTS;
    for (size_t i = 0; i < HM_PROFILE_PARTS && site->has_series; i++) {
        const json_t *value = json_array_get(series, i);
        json_int_t bytes = json_is_integer(value) ? json_integer_value(value) : -1;
        site->has_series = bytes >= 0 && (uint64_t)bytes <= site->peak_bytes;
        site->series[i] = site->has_series ? (uint64_t)bytes : 0;
    }
    if (series && !json_is_null(series) && !site->has_series)
        hm_take_fail(taker, "series", "an array of 32 whole numbers from 0 to peak_bytes, or null");
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

/* Profiles of before there were slices do not have the member. */
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
    if (!slices->is_known)
        hm_take_fail(taker, "slices", "accesses of at most 32 slices, of step_bytes each up to extent_bytes, or null");
}

/* Those of samples follow from their number. */
static void take_counted(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site)
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

static void take_site(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site, size_t n_objects)
{
    site->id = take_id(taker, from);
    site->is_given = take_given(taker, from);
    site->class_bytes = hm_take_count_or_null(taker, from, "class_bytes", 1);
    take_frames(taker, from, site, n_objects);
    site->allocations = (uint64_t)hm_take_count(taker, from, "allocations", 0, HM_PROFILE_MOST);
    site->peak_bytes = (uint64_t)hm_take_count(taker, from, "peak_bytes", 0, HM_PROFILE_MOST);
    take_series(taker, from, site);
    take_slices(taker, from, &site->slices);
    site->mean_bytes = hm_take_real(taker, from, "mean_bytes");
    site->lifetime_s = hm_take_real_or_null(taker, from, "lifetime_s");
    site->reads = hm_take_real_or_null(taker, from, "reads");
    site->writes = hm_take_real_or_null(taker, from, "writes");
    site->samples = hm_take_real_or_null(taker, from, "samples");
}

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Does an id stand twice? */
static void check_ids(struct hm_taker *taker, const struct hm_profile *profile)
{
    uint64_t *ids = malloc((profile->n_sites + 1) * sizeof(*ids));
    if (!ids) {
        hm_take_fail_memory(taker);
        return;
    }
    for (size_t i = 0; i < profile->n_sites; i++)
        ids[i] = profile->site[i].id;
    qsort(ids, profile->n_sites, sizeof(*ids), by_id);
    taker->place[0] = '\0';
    for (size_t i = 1; i < profile->n_sites; i++)
        if (ids[i] == ids[i - 1])
            hm_take_fail(taker, "sites", "without an id that stands twice");
    free(ids);
}

static void take_sites(struct hm_taker *taker, const json_t *from, struct hm_profile *profile)
{
    taker->place[0] = '\0';
    const json_t *sites = json_object_get(from, "sites");
    profile->site = hm_take_array(taker, from, "sites", HM_PROFILE_SITES, sizeof(*profile->site), &profile->n_sites);
    for (size_t i = 0; i < profile->n_sites && !taker->has_failed; i++) {
        snprintf(taker->place, HM_TAKE_PLACE, "sites[%zu].", i);
        take_site(taker, json_array_get(sites, i), &profile->site[i], profile->n_objects);
        if (!taker->has_failed && hm_profile_is_counted(profile))
            take_counted(taker, json_array_get(sites, i), &profile->site[i]);
    }
    if (!taker->has_failed)
        check_ids(taker, profile);
}

static void take_all(struct hm_taker *taker, const json_t *from, struct hm_profile *profile)
{
    hm_take_count(taker, from, "schema", 1, 1);
    profile->start = hm_take_line(taker, from, "start", false);
    profile->elapsed_s = hm_take_real(taker, from, "elapsed_s");
    profile->exit_code =
        json_is_null(json_object_get(from, "exit_code")) ? -1 : (int)hm_take_count(taker, from, "exit_code", 0, 255);
    profile->least_bytes = (uint64_t)hm_take_count(taker, from, "least_bytes", 1, HM_PROFILE_MOST);
    profile->processes = (uint64_t)hm_take_count(taker, from, "processes", 0, HM_PROFILE_MOST);
    profile->peak_bytes = (uint64_t)hm_take_count(taker, from, "peak_bytes", 0, HM_PROFILE_MOST);
    profile->left_out = (uint64_t)hm_take_count(taker, from, "left_out", 0, HM_PROFILE_MOST);
    const json_t *program = hm_take_object(taker, from, "program"), *sampling = hm_take_object(taker, from, "sampling");
    if (taker->has_failed)
        return;
    take_program(taker, program, profile);
    take_sampling(taker, sampling, profile);
    take_objects(taker, from, profile);
    if (!taker->has_failed)
        take_sites(taker, from, profile);
}

struct hm_profile *hm_profile_parse(const char *path, const char *text, size_t length, struct hm_error *error)
{
    struct hm_taker taker = {.path = path, .error = error};
    json_error_t why;
    json_t *all = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!all) {
        hm_fail(error, EBADMSG, "%s: no profile, as it is not JSON: line %d: %s", path, why.line, why.text);
        return NULL;
    }
    struct hm_profile *profile = calloc(1, sizeof(*profile));
    if (!json_is_object(all))
        taker.has_failed = hm_fail(error, EBADMSG, "%s: no profile, as it is not a JSON object", path) < 0;
    else if (!profile)
        hm_take_fail_memory(&taker);
    else
        take_all(&taker, all, profile);
    json_decref(all);
    if (!taker.has_failed)
        return profile;
    int number = errno;
    hm_profile_free(profile);
    errno = number;
    return NULL;
}

struct hm_profile *hm_profile_read(const char *path, struct hm_error *error)
{
    size_t length = 0;
    struct hm_profile *profile = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = fd < 0 ? NULL : hm_file_read_whole(fd, HM_PROFILE_FILE, &length);
    if (text)
        profile = hm_profile_parse(path, text, length, error);
    else if (errno == EINVAL)
        hm_fail(error, EINVAL, "%s: no profile, as it is not a file", path);
    else if (errno == E2BIG)
        hm_fail(error, E2BIG, "%s: no profile, as it is longer than 64 MiB", path);
    else
        hm_fail_errno(error, "%s", path);
    int number = errno;
    free(text);
    if (fd >= 0)
        close(fd);
    errno = number;
    return profile;
}
