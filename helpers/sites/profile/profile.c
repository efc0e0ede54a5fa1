/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/search.h"

#define SCORE 1.959964 /* of the normal distribution, for 95 % */

double hm_profile_accesses(const struct hm_profile_site *site)
{
    return site->reads + site->writes;
}

double hm_profile_all_accesses(const struct hm_profile *profile)
{
    double all = profile->elsewhere;
    for (size_t i = 0; i < profile->n_sites; i++) {
        double accesses = hm_profile_accesses(&profile->site[i]);
        all += isnan(accesses) ? 0 : accesses;
    }
    return all;
}

const char *hm_profile_unsampled(const struct hm_profile *profile, char *out, size_t size)
{
    if (hm_profile_is_counted(profile))
        snprintf(out, size, "no bytes were counted");
    else if (profile->source) /* its `why` says why no better source was taken */
        snprintf(out, size, "%.15s took no sample in %.3g s: the program has to run for longer", profile->source,
                 profile->elapsed_s);
    else
        snprintf(out, size, "%s", profile->why ? profile->why : "no sample was taken");
    return out;
}

uint32_t hm_profile_touched(const struct hm_profile_site *site)
{
    return site->resident.slices != 0 ? site->resident.slices : HM_SLICES_ALL;
}

uint64_t hm_profile_room(const struct hm_profile_site *site, uint64_t allocated_bytes)
{
    uint64_t n = (uint64_t)__builtin_popcount(hm_profile_touched(site));
    uint64_t rest = allocated_bytes % HM_SLICES * n; /* of 32 parts of a byte */
    return allocated_bytes / HM_SLICES * n + (rest + HM_SLICES - 1) / HM_SLICES;
}

uint64_t hm_profile_room_of_all(const struct hm_profile *profile)
{
    return profile->has_resident_peak ? profile->resident_peak_bytes : profile->peak_bytes;
}

bool hm_profile_has_input(const struct hm_profile *profile, const char *input)
{
    size_t length = strlen(input), between = strlen(HM_PROFILE_AND);
    for (const char *at = profile->class_text; at;) {
        const char *end = strstr(at, HM_PROFILE_AND);
        if ((end ? (size_t)(end - at) : strlen(at)) == length && memcmp(at, input, length) == 0)
            return true;
        at = end ? end + between : NULL;
    }
    return false;
}

bool hm_profile_is_counted(const struct hm_profile *profile)
{
    return profile->source && strcmp(profile->source, HM_PROFILE_COUNTED) == 0;
}

/* The share is within the bounds but for rounding, and where the file is not one of ours. */
static struct hm_profile_bounds counted_bounds(double all, const struct hm_profile_site *site)
{
    double share = all > 0 ? hm_profile_accesses(site) / all : NAN;
    if (isnan(share) || isnan(site->counted.low))
        return (struct hm_profile_bounds){NAN, NAN};
    return (struct hm_profile_bounds){fmin(site->counted.low, share), fmin(fmax(site->counted.high, share), 1)};
}

double hm_profile_share(double all, const struct hm_profile_site *site)
{
    double share = hm_profile_accesses(site) / all;
    return all > 0 && !isnan(share) ? fmin(share, 1) : NAN;
}

/* Samples are rarer where they cost more, and count as more accesses then: the site's may count as more, or as less,
 * than others do. How many they are tells how sure it is, as a ratio of the share. */
static struct hm_profile_bounds weighted(struct hm_profile_bounds bounds, double sampled, double share)
{
    if (isnan(share) || !(sampled > 0))
        return bounds;
    return (struct hm_profile_bounds){fmin(bounds.low * share / sampled, share),
                                      fmin(fmax(bounds.high * share / sampled, share), 1)};
}

struct hm_profile_bounds hm_profile_confidence(const struct hm_profile *profile, double all,
                                               const struct hm_profile_site *site)
{
    double n = profile->samples, square = SCORE * SCORE;
    if (hm_profile_is_counted(profile))
        return counted_bounds(all, site);
    if (!(n > 0) || isnan(site->samples) || (profile->source && strcmp(profile->source, HM_PROFILE_LOOKED) == 0))
        return (struct hm_profile_bounds){NAN, NAN};
    double share = fmin(site->samples / n, 1);
    double middle = (share + square / (2 * n)) / (1 + square / n);
    /* The share is within the bounds but for rounding, where it is 0 or 1. */
    double half = SCORE / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n));
    const struct hm_profile_bounds bounds = {fmax(fmin(middle - half, share), 0), fmin(fmax(middle + half, share), 1)};
    return weighted(bounds, share, hm_profile_share(all, site));
}

/* The place of the first function that begins behind this address. */
static size_t place_behind(const struct hm_profile_object *object, uint64_t address)
{
    return HM_SEARCH_UPTO(object->function, object->n_functions, start, address);
}

/* A return address is behind the call, which may be the last of its function. */
const struct hm_profile_function *hm_profile_function_at(const struct hm_profile_object *object, uint64_t offset)
{
    size_t place = offset > 0 ? place_behind(object, offset - 1) : 0;
    const struct hm_profile_function *function = place > 0 ? &object->function[place - 1] : NULL;
    return function && offset - 1 - function->start < function->bytes ? function : NULL;
}

int hm_profile_add_function(struct hm_profile_object *object, const char *name, uint64_t start, uint64_t bytes)
{
    size_t place = place_behind(object, start);
    if ((place > 0 && object->function[place - 1].start == start) || object->n_functions == HM_PROFILE_FUNCTIONS)
        return 0;
    struct hm_profile_function *more =
        reallocarray(object->function, object->n_functions + 1, sizeof(*object->function));
    if (!more)
        return -1;
    object->function = more;
    char *copy = strdup(name);
    if (!copy)
        return -1;
    memmove(&more[place + 1], &more[place], (object->n_functions - place) * sizeof(*more));
    more[place] = (struct hm_profile_function){copy, start, bytes};
    object->n_functions++;
    return 0;
}

static void free_object(struct hm_profile_object *object)
{
    for (size_t i = 0; i < object->n_functions; i++)
        free(object->function[i].name);
    free(object->function);
    free(object->build_id);
    free(object->path);
}

void hm_profile_free(struct hm_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->n_objects; i++)
        free_object(&profile->object[i]);
    free(profile->object);
    free(profile->site);
    free(profile->command);
    free(profile->program);
    free(profile->build_id);
    free(profile->class_text);
    free(profile->start);
    free(profile->source);
    free(profile->why);
    free(profile);
}
