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
#include "takesite.h"

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
    /* profiles of before looks were a source do not have the member */
    profile->saturated = json_object_get(from, "saturated") ? hm_take_real_or_null(taker, from, "saturated") : NAN;
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
        hm_profile_take_site(taker, json_array_get(sites, i), &profile->site[i], profile->n_objects);
        if (!taker->has_failed && hm_profile_is_counted(profile))
            hm_profile_take_counted(taker, json_array_get(sites, i), &profile->site[i]);
    }
    if (!taker->has_failed)
        check_ids(taker, profile);
}

static void take_resident_peak(struct hm_taker *taker, const json_t *from, struct hm_profile *profile)
{
    const json_t *given = json_object_get(from, "resident_peak_bytes");
    profile->has_resident_peak = given && !json_is_null(given);
    if (profile->has_resident_peak)
        profile->resident_peak_bytes =
            (uint64_t)hm_take_count(taker, from, "resident_peak_bytes", 0, (int64_t)profile->peak_bytes);
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
    take_resident_peak(taker, from, profile);
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
