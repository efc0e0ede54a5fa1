/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

bool hm_profile_is_counted(const struct hm_profile *profile)
{
    return profile->source && strcmp(profile->source, HM_PROFILE_COUNTED) == 0;
}

/* The share is within the bounds but for rounding, and where the file is not one of ours. */
static struct hm_profile_bounds counted_bounds(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    double all = hm_profile_all_accesses(profile), share = all > 0 ? hm_profile_accesses(site) / all : NAN;
    if (isnan(share) || isnan(site->counted.low))
        return (struct hm_profile_bounds){NAN, NAN};
    return (struct hm_profile_bounds){fmin(site->counted.low, share), fmin(fmax(site->counted.high, share), 1)};
}

struct hm_profile_bounds hm_profile_confidence(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    double n = profile->samples, square = SCORE * SCORE;
    if (hm_profile_is_counted(profile))
        return counted_bounds(profile, site);
    if (!(n > 0) || isnan(site->samples))
        return (struct hm_profile_bounds){NAN, NAN};
    double share = fmin(site->samples / n, 1);
    double middle = (share + square / (2 * n)) / (1 + square / n);
    /* The share is within the bounds but for rounding, where it is 0 or 1. */
    double half = SCORE / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n));
    return (struct hm_profile_bounds){fmax(fmin(middle - half, share), 0), fmin(fmax(middle + half, share), 1)};
}

void hm_profile_free(struct hm_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->n_objects; i++) {
        free(profile->object[i].build_id);
        free(profile->object[i].path);
    }
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
