/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a profile. Whoever has given it to the user may be hostile: every figure is checked before it is believed. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "profile.h"

#define PLACE 128

/* Where in the file something is wrong. */
struct reader {
    const char *path;
    char place[PLACE]; /* "" or such as "sites[3]." */
    struct hm_error *error;
    bool has_failed;
};

static void fail(struct reader *reader, const char *key, const char *wanted)
{
    if (!reader->has_failed)
        hm_fail(reader->error, EBADMSG, "%s: %s%s has to be %s", reader->path, reader->place, key, wanted);
    reader->has_failed = true;
}

/* A whole number from `least` to `most`; 0 where it is none. */
static int64_t take_count(struct reader *reader, const json_t *from, const char *key, int64_t least, int64_t most)
{
    char wanted[80];
    const json_t *value = json_object_get(from, key);
    json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= least && number <= most)
        return number;
    snprintf(wanted, sizeof(wanted), "a whole number from %lld to %lld", (long long)least, (long long)most);
    fail(reader, key, wanted);
    return 0;
}

/* The same, where null is 0. */
static uint64_t take_count_or_null(struct reader *reader, const json_t *from, const char *key, int64_t least)
{
    const json_t *value = json_object_get(from, key);
    return json_is_null(value) ? 0 : (uint64_t)take_count(reader, from, key, least, HM_PROFILE_MOST);
}

/* A number that is not negative. */
static double take_real(struct reader *reader, const json_t *from, const char *key)
{
    const json_t *value = json_object_get(from, key);
    double number = json_number_value(value);
    if (json_is_number(value) && number >= 0 && number <= (double)HM_PROFILE_MOST)
        return number;
    fail(reader, key, "a number that is not negative");
    return 0;
}

/* The same, where null is NaN. */
static double take_real_or_null(struct reader *reader, const json_t *from, const char *key)
{
    return json_is_null(json_object_get(from, key)) ? NAN : take_real(reader, from, key);
}

/* A text, to be freed. NULL: it is wrong, or null where that is allowed. */
static char *take_text(struct reader *reader, const json_t *from, const char *key, bool may_be_null)
{
    const json_t *value = json_object_get(from, key);
    if (may_be_null && json_is_null(value))
        return NULL;
    if (json_is_string(value) && json_string_length(value) < HM_PROFILE_TEXT) {
        char *text = strdup(json_string_value(value));
        if (!text && !reader->has_failed)
            reader->has_failed = hm_fail(reader->error, ENOMEM, "out of memory") < 0;
        return text;
    }
    fail(reader, key, "a text of less than 4096 bytes");
    return NULL;
}

/* A text that is written to terminals as it is. */
static char *take_line(struct reader *reader, const json_t *from, const char *key, bool may_be_null)
{
    char *text = take_text(reader, from, key, may_be_null);
    for (const unsigned char *at = (unsigned char *)text; at && *at; at++)
        if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0)) /* of UTF-8, U+0080 to U+009F, too */
            fail(reader, key, "one line without control characters");
    return text;
}

static const json_t *take_object(struct reader *reader, const json_t *from, const char *key)
{
    const json_t *value = json_object_get(from, key);
    if (!json_is_object(value))
        fail(reader, key, "an object");
    return value;
}

/* An array of at most `most` objects, and room for as many structs of `size` bytes. NULL where it is empty or wrong. */
static void *take_array(struct reader *reader, const json_t *from, const char *key, size_t most, size_t size, size_t *n)
{
    char wanted[80];
    const json_t *value = json_object_get(from, key);
    *n = json_array_size(value);
    if (!json_is_array(value) || *n > most) {
        snprintf(wanted, sizeof(wanted), "an array of at most %zu objects", most);
        fail(reader, key, wanted);
        *n = 0;
    }
    void *room = *n > 0 ? calloc(*n, size) : NULL;
    if (*n > 0 && !room) {
        reader->has_failed = hm_fail(reader->error, ENOMEM, "out of memory") < 0;
        *n = 0;
    }
    return room;
}

static bool is_hexadecimal(const char *text)
{
    return *text && strspn(text, "0123456789abcdef") == strlen(text);
}

static char *take_build_id(struct reader *reader, const json_t *from)
{
    char *text = take_text(reader, from, "build_id", true);
    if (text && !is_hexadecimal(text))
        fail(reader, "build_id", "lower-case hexadecimal digits, or null");
    return text;
}

static void take_program(struct reader *reader, const json_t *from, struct hm_profile *profile)
{
    snprintf(reader->place, PLACE, "program.");
    profile->command = take_text(reader, from, "command", false);
    profile->program = take_text(reader, from, "path", false);
    profile->build_id = take_build_id(reader, from);
    profile->class_text = take_text(reader, from, "input_class", true);
}

static void take_sampling(struct reader *reader, const json_t *from, struct hm_profile *profile)
{
    snprintf(reader->place, PLACE, "sampling.");
    profile->source = take_line(reader, from, "source", true);
    profile->why = take_line(reader, from, "why", true);
    profile->unit = take_count_or_null(reader, from, "unit", 1);
    profile->samples = take_real_or_null(reader, from, "samples");
    profile->elsewhere = take_real_or_null(reader, from, "elsewhere");
    profile->lost = take_count_or_null(reader, from, "lost", 0);
}

static void take_objects(struct reader *reader, const json_t *from, struct hm_profile *profile)
{
    reader->place[0] = '\0';
    const json_t *objects = json_object_get(from, "objects");
    profile->object =
        take_array(reader, from, "objects", HM_PROFILE_OBJECTS, sizeof(*profile->object), &profile->n_objects);
    for (size_t i = 0; i < profile->n_objects && !reader->has_failed; i++) {
        const json_t *object = json_array_get(objects, i);
        snprintf(reader->place, PLACE, "objects[%zu].", i);
        profile->object[i].build_id = take_build_id(reader, object);
        profile->object[i].path = take_text(reader, object, "path", false);
    }
}

static void take_frames(struct reader *reader, const json_t *from, struct hm_profile_site *site, size_t n_objects)
{
    const json_t *frames = json_object_get(from, "frames");
    size_t n = json_array_size(frames);
    if (!json_is_array(frames) || n > HM_PROFILE_DEPTH) {
        fail(reader, "frames", "an array of at most 10 objects");
        return;
    }
    for (size_t i = 0; i < n && !reader->has_failed; i++) {
        const json_t *frame = json_array_get(frames, i);
        bool is_nowhere = json_is_null(json_object_get(frame, "object"));
        site->frame[i].object = is_nowhere ? -1 : (int)take_count(reader, frame, "object", 0, (int64_t)n_objects - 1);
        site->frame[i].offset = (uint64_t)take_count(reader, frame, "offset", 0, INT64_MAX);
    }
    site->n_frames = (int)n;
}

static uint64_t take_id(struct reader *reader, const json_t *from)
{
    const char *text = json_string_value(json_object_get(from, "id"));
    if (text && strlen(text) == 16 && is_hexadecimal(text))
        return strtoull(text, NULL, 16);
    fail(reader, "id", "16 lower-case hexadecimal digits");
    return 0;
}

static void take_site(struct reader *reader, const json_t *from, struct hm_profile_site *site, size_t n_objects)
{
    site->id = take_id(reader, from);
    site->class_bytes = take_count_or_null(reader, from, "class_bytes", 1);
    take_frames(reader, from, site, n_objects);
    site->allocations = (uint64_t)take_count(reader, from, "allocations", 0, HM_PROFILE_MOST);
    site->peak_bytes = (uint64_t)take_count(reader, from, "peak_bytes", 0, HM_PROFILE_MOST);
    site->mean_bytes = take_real(reader, from, "mean_bytes");
    site->lifetime_s = take_real_or_null(reader, from, "lifetime_s");
    site->reads = take_real_or_null(reader, from, "reads");
    site->writes = take_real_or_null(reader, from, "writes");
    site->samples = take_real_or_null(reader, from, "samples");
}

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Does an id stand twice? */
static void check_ids(struct reader *reader, const struct hm_profile *profile)
{
    uint64_t *ids = malloc((profile->n_sites + 1) * sizeof(*ids));
    if (!ids) {
        reader->has_failed = hm_fail(reader->error, ENOMEM, "out of memory") < 0;
        return;
    }
    for (size_t i = 0; i < profile->n_sites; i++)
        ids[i] = profile->site[i].id;
    qsort(ids, profile->n_sites, sizeof(*ids), by_id);
    reader->place[0] = '\0';
    for (size_t i = 1; i < profile->n_sites; i++)
        if (ids[i] == ids[i - 1])
            fail(reader, "sites", "without an id that stands twice");
    free(ids);
}

static void take_sites(struct reader *reader, const json_t *from, struct hm_profile *profile)
{
    reader->place[0] = '\0';
    const json_t *sites = json_object_get(from, "sites");
    profile->site = take_array(reader, from, "sites", HM_PROFILE_SITES, sizeof(*profile->site), &profile->n_sites);
    for (size_t i = 0; i < profile->n_sites && !reader->has_failed; i++) {
        snprintf(reader->place, PLACE, "sites[%zu].", i);
        take_site(reader, json_array_get(sites, i), &profile->site[i], profile->n_objects);
    }
    if (!reader->has_failed)
        check_ids(reader, profile);
}

static void take_all(struct reader *reader, const json_t *from, struct hm_profile *profile)
{
    take_count(reader, from, "schema", 1, 1);
    profile->start = take_line(reader, from, "start", false);
    profile->elapsed_s = take_real(reader, from, "elapsed_s");
    profile->exit_code = (int)take_count(reader, from, "exit_code", 0, 255);
    profile->least_bytes = (uint64_t)take_count(reader, from, "least_bytes", 1, HM_PROFILE_MOST);
    profile->processes = (uint64_t)take_count(reader, from, "processes", 0, HM_PROFILE_MOST);
    profile->peak_bytes = (uint64_t)take_count(reader, from, "peak_bytes", 0, HM_PROFILE_MOST);
    profile->left_out = (uint64_t)take_count(reader, from, "left_out", 0, HM_PROFILE_MOST);
    const json_t *program = take_object(reader, from, "program"), *sampling = take_object(reader, from, "sampling");
    if (reader->has_failed)
        return;
    take_program(reader, program, profile);
    take_sampling(reader, sampling, profile);
    take_objects(reader, from, profile);
    if (!reader->has_failed)
        take_sites(reader, from, profile);
}

struct hm_profile *hm_profile_parse(const char *path, const char *text, size_t length, struct hm_error *error)
{
    struct reader reader = {.path = path, .error = error};
    json_error_t why;
    json_t *all = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!all) {
        hm_fail(error, EBADMSG, "%s: no profile, as it is not JSON: line %d: %s", path, why.line, why.text);
        return NULL;
    }
    struct hm_profile *profile = calloc(1, sizeof(*profile));
    if (!json_is_object(all))
        reader.has_failed = hm_fail(error, EBADMSG, "%s: no profile, as it is not a JSON object", path) < 0;
    else if (!profile)
        reader.has_failed = hm_fail(error, ENOMEM, "out of memory") < 0;
    else
        take_all(&reader, all, profile);
    json_decref(all);
    if (!reader.has_failed)
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
