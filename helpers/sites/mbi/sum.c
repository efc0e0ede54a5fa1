/* SPDX-License-Identifier: Apache-2.0 */
#include "sum.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"

#define NOT_MEASURED "%zu of %zu groups of sites %s not measured"

/* What was measured of a group, or of all that is in no group. */
struct measure {
    unsigned n; /* repetitions */
    double reads, writes;
};

/* Quantiles of Student's t distribution for two-sided bounds of 95 %, by n - 1. */
static double quantile(unsigned n)
{
    static const double table[HM_MBI_REPETITIONS - 1] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                                         2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                                                         2.131,  2.120, 2.110, 2.101, 2.093};
    return n < 2 ? NAN : table[n - 2];
}

/* The traffic of a part in one repetition. Returns false where it is not known. */
static bool look_up(const struct hm_mbi_plan *plan, const struct hm_mbi_result *const *result, unsigned repetition,
                    enum hm_mbi_part part, size_t group, double *reads, double *writes)
{
    const struct hm_mbi_result *with = result[hm_mbi_plan_number(plan, repetition, part, group)];
    const struct hm_mbi_result *without = result[hm_mbi_plan_number(plan, repetition, HM_MBI_NOTHING, 0)];
    if (!with || !without)
        return false;
    *reads = with->read_bytes - without->read_bytes;
    *writes = with->write_bytes - without->write_bytes;
    return true;
}

static struct measure measure(const struct hm_mbi_plan *plan, const struct hm_mbi_result *const *result,
                              enum hm_mbi_part part, size_t group)
{
    struct measure sum = {.n = 0};
    double reads, writes;
    for (unsigned i = 0; i < plan->repetitions; i++) {
        if (!look_up(plan, result, i, part, group, &reads, &writes))
            continue;
        sum.n++;
        sum.reads += reads;
        sum.writes += writes;
    }
    sum.reads = fmin(fmax(sum.reads / sum.n, 0), (double)HM_PROFILE_MOST / 2);
    sum.writes = fmin(fmax(sum.writes / sum.n, 0), (double)HM_PROFILE_MOST / 2);
    return sum;
}

static double bytes_of(const struct measure *one)
{
    return one->n > 0 ? one->reads + one->writes : 0;
}

/* The share that a group has of all traffic in one repetition, without groups that none has measured. NaN: something of
 * it is not known. */
static double share_in(const struct hm_mbi_plan *plan, const struct hm_mbi_result *const *result,
                       const struct measure *group, unsigned repetition, size_t wanted)
{
    double all = 0, mine = 0, reads, writes;
    for (size_t i = 0; i <= plan->n_groups; i++) {
        bool is_rest = i == plan->n_groups;
        if (!is_rest && group[i].n == 0)
            continue;
        if (!look_up(plan, result, repetition, is_rest ? HM_MBI_REST : HM_MBI_GROUP, is_rest ? 0 : i, &reads, &writes))
            return NAN;
        double bytes = fmax(reads + writes, 0);
        all += bytes;
        mine += i == wanted ? bytes : 0;
    }
    return all > 0 ? mine / all : NAN;
}

/* The bounds of a group's share, by its shares in the repetitions: the spread of these also has what all parts of a
 * repetition have in common, as the run with nothing that is taken off each. */
static struct hm_profile_bounds bounds_of(const struct hm_mbi_plan *plan, const struct hm_mbi_result *const *result,
                                          const struct measure *group, size_t wanted, double share)
{
    double sum = 0, squares = 0;
    unsigned n = 0;
    for (unsigned i = 0; i < plan->repetitions; i++) {
        double one = share_in(plan, result, group, i, wanted);
        n += !isnan(one);
        sum += isnan(one) ? 0 : one;
    }
    for (unsigned i = 0; i < plan->repetitions; i++) {
        double one = share_in(plan, result, group, i, wanted);
        squares += isnan(one) ? 0 : (one - sum / n) * (one - sum / n);
    }
    double half = quantile(n) * sqrt(squares / (n - 1.0) / n), mean = sum / n;
    if (n < 2 || isnan(share))
        return (struct hm_profile_bounds){NAN, NAN};
    return (struct hm_profile_bounds){fmax(fmin(mean - half, share), 0), fmin(fmax(mean + half, share), 1)};
}

/* The mean bytes of all sites of a group. */
static double mean_bytes_of(const struct hm_profile *profile, const struct hm_mbi_group *group)
{
    double all = 0;
    for (size_t i = 0; i < profile->n_sites; i++)
        all += hm_mbi_group_has(group, profile->site[i].id) ? profile->site[i].mean_bytes : 0;
    return all;
}

static void clear(struct hm_profile *profile)
{
    for (size_t i = 0; i < profile->n_sites; i++) {
        struct hm_profile_site *site = &profile->site[i];
        site->samples = site->reads = site->writes = NAN;
        site->is_untold = false;
        site->counted = (struct hm_profile_bounds){NAN, NAN};
    }
    profile->samples = profile->elsewhere = profile->saturated = NAN;
    profile->unit = profile->lost = 0;
}

static void give(struct hm_profile *profile, const struct hm_mbi_group *group, const struct measure *one,
                 struct hm_profile_bounds bounds)
{
    double all = mean_bytes_of(profile, group);
    for (size_t i = 0; i < profile->n_sites; i++) {
        struct hm_profile_site *site = &profile->site[i];
        if (!hm_mbi_group_has(group, site->id))
            continue;
        double part = all > 0 ? site->mean_bytes / all : 1 / (double)group->n; /* by its mean bytes */
        site->reads = one->reads * part;
        site->writes = one->writes * part;
        site->counted = bounds;
        if (group->n > 1 && !isnan(bounds.low))
            site->counted.low = 0;
    }
}

/* Returns 0, or -1: no memory. */
static int describe(struct hm_profile *profile, size_t n_missing, size_t n_groups)
{
    char why[64];
    free(profile->source);
    free(profile->why);
    profile->source = strdup(HM_PROFILE_COUNTED);
    snprintf(why, sizeof(why), NOT_MEASURED, n_missing, n_groups, hm_plural(n_missing, "was", "were"));
    profile->why = n_missing > 0 ? strdup(why) : NULL;
    return profile->source && (profile->why || n_missing == 0) ? 0 : -1;
}

int hm_mbi_sum(const struct hm_mbi_plan *plan, const struct hm_mbi_result *const *result, bool is_partial,
               struct hm_profile *profile, struct hm_error *error)
{
    struct measure rest = measure(plan, result, HM_MBI_REST, 0);
    struct measure *group = calloc(plan->n_groups, sizeof(*group));
    double all = bytes_of(&rest);
    size_t n_missing = 0;
    if (!group)
        return hm_fail(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < plan->n_groups; i++) {
        group[i] = measure(plan, result, HM_MBI_GROUP, i);
        all += bytes_of(&group[i]);
        n_missing += group[i].n == 0;
    }
    int status = 0;
    if (rest.n == 0)
        status = hm_fail(error, ENODATA, "the memory that is in no group was not measured");
    else if ((n_missing > 0 && !is_partial) || n_missing == plan->n_groups)
        status = hm_fail(error, ENODATA, NOT_MEASURED, n_missing, plan->n_groups, hm_plural(n_missing, "was", "were"));
    else if (describe(profile, n_missing, plan->n_groups) < 0)
        status = hm_fail(error, ENOMEM, "out of memory");
    else
        clear(profile);
    if (status == 0)
        profile->elsewhere = bytes_of(&rest);
    for (size_t i = 0; i < plan->n_groups && status == 0; i++)
        if (group[i].n > 0)
            give(profile, &plan->group[i], &group[i],
                 bounds_of(plan, result, group, i, all > 0 ? bytes_of(&group[i]) / all : NAN));
    free(group);
    return status;
}
