/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of `hybridmem sites` share. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "cli/draw/figures.h"
#include "commands.h"

struct hm_profile *hm_sites_open(int argc, char **argv, const struct hm_words *words, int *status)
{
    struct hm_error error = {""};
    struct hm_profile *profile = NULL;
    *status = HM_SITES_BAD;
    if (optind >= argc)
        fprintf(stderr, "hybridmem %s: the profile is missing: name one that hybridmem sites run has made\n",
                words->command);
    else if (optind + 1 < argc)
        *status = hm_words_refuse(words, argv[optind + 1]);
    else if ((profile = hm_profile_read(argv[optind], &error)) == NULL)
        fprintf(stderr, "hybridmem %s: %s\n", words->command, error.text);
    return profile;
}

int hm_sites_put(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error)
{
    json_t *json = hm_profile_json(profile);
    int status = -1;
    FILE *out = json ? fdopen(dup(file->fd), "w") : NULL;
    if (!json)
        hm_fail(error, ENOMEM, "no profile: out of memory");
    else if (!out || hm_figures_put(out, json, JSON_INDENT(1)) < 0 || fflush(out) != 0)
        hm_fail_errno(error, "%s", file->path);
    else
        status = 0;
    if (out)
        fclose(out);
    json_decref(json);
    return status;
}

int hm_sites_write(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error)
{
    if (hm_sites_put(profile, file, error) < 0)
        return -1;
    return hm_newfile_place(file) == 0 ? 0 : hm_fail_errno(error, "%s", file->path);
}

/* The last part of an object's path. */
static const char *name_of(const struct hm_profile *profile, int object)
{
    if (object < 0)
        return "?";
    const char *path = profile->object[object].path, *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int hm_sites_name_compare(const void *a, const void *b)
{
    const struct hm_profile_frame *left = &((const struct hm_sites_name *)a)->frame;
    const struct hm_profile_frame *right = &((const struct hm_sites_name *)b)->frame;
    if (left->object != right->object)
        return left->object < right->object ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

const char *hm_sites_name_of(const struct hm_sites_names *names, const struct hm_profile_frame *frame)
{
    const struct hm_sites_name wanted = {.frame = *frame};
    const struct hm_sites_name *found =
        names && names->n > 0 ? bsearch(&wanted, names->name, names->n, sizeof(*names->name), hm_sites_name_compare)
                              : NULL;
    return found ? found->text : NULL;
}

/* Writes one frame. Returns its length, as snprintf. */
static int write_frame(const struct hm_profile *profile, const struct hm_sites_names *names,
                       const struct hm_profile_frame *frame, const char *before, char *out, size_t size)
{
    const char *name = hm_sites_name_of(names, frame);
    if (name)
        return snprintf(out, size, "%s%s", before, name);
    return snprintf(out, size, "%s%.40s+0x%" PRIx64, before, name_of(profile, frame->object), frame->offset);
}

static void make_plain(char *text)
{
    for (char *byte = text; *byte; byte++)
        if (*byte < 0x20 || *byte > 0x7e)
            *byte = '?';
}

char *hm_sites_input(const struct hm_profile *profile, char out[HM_SITES_INPUT])
{
    snprintf(out, HM_SITES_INPUT, "%.*s", HM_SITES_INPUT - 1, profile->class_text ? profile->class_text : "");
    make_plain(out);
    return out;
}

char *hm_sites_where(const struct hm_profile *profile, const struct hm_sites_names *names,
                     const struct hm_profile_site *site, char *out, size_t size)
{
    char bytes[24];
    size_t used = 0;
    if (site->class_bytes > 0)
        snprintf(out, size, "all of up to %s", hm_size_format(site->class_bytes, bytes, sizeof(bytes)));
    else
        snprintf(out, size, "%s", site->n_frames > 0 ? "" : "not known");
    for (int i = 0; i < site->n_frames; i++) {
        char frame[HM_PROFILE_TEXT];
        int length = write_frame(profile, names, &site->frame[i], i > 0 ? " < " : "", frame, sizeof(frame));
        if (length < 0 || used + (size_t)length >= size)
            break;
        memcpy(out + used, frame, (size_t)length + 1);
        used += (size_t)length;
    }
    make_plain(out);
    return out;
}

struct key {
    double accesses;
    uint64_t bytes;
    size_t at;
};

static int compare(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->accesses != right->accesses)
        return left->accesses > right->accesses ? -1 : 1;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return (left->at > right->at) - (left->at < right->at);
}

size_t *hm_sites_sort(const struct hm_profile *profile)
{
    struct key *keys = malloc((profile->n_sites + 1) * sizeof(*keys));
    size_t *order = malloc((profile->n_sites + 1) * sizeof(*order));
    for (size_t i = 0; keys && order && i < profile->n_sites; i++) {
        double accesses = hm_profile_accesses(&profile->site[i]);
        keys[i] = (struct key){isnan(accesses) ? -1 : accesses, profile->site[i].peak_bytes, i};
    }
    if (keys && order)
        qsort(keys, profile->n_sites, sizeof(*keys), compare);
    for (size_t i = 0; keys && order && i < profile->n_sites; i++)
        order[i] = keys[i].at;
    if (!keys) {
        free(order);
        order = NULL;
    }
    free(keys);
    return order;
}
