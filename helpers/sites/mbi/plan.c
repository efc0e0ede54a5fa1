/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc/hybridmem.h"
#include "base/amount.h"
#include "sites/guide/choose.h"
#include "sites/guide/table.h"

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* The largest first. */
static int by_peak(const void *a, const void *b)
{
    const struct hm_profile_site *left = *(const struct hm_profile_site *const *)a;
    const struct hm_profile_site *right = *(const struct hm_profile_site *const *)b;
    if (left->peak_bytes != right->peak_bytes)
        return left->peak_bytes > right->peak_bytes ? -1 : 1;
    return by_id(&left->id, &right->id);
}

/* Small allocations are placed only with arenas, and size classes only in the program of the plan, by its build-id. A
 * program has many sites of little memory among these, which are not worth a run. */
static bool is_measured(const struct hm_profile *profile, const struct hm_profile_site *site,
                        const struct hm_mbi_plan *plan, bool has_arenas, double alone_bytes)
{
    if (hm_guide_can_place(profile, site, false))
        return true;
    return hm_guide_can_place(profile, site, has_arenas) && (site->class_bytes == 0 || plan->build_id) &&
           (double)site->peak_bytes >= alone_bytes;
}

/* Finds the sites that are measured. Returns their number. */
static size_t find_sites(const struct hm_profile *profile, const struct hm_mbi_plan *plan, bool has_arenas,
                         double alone_bytes, const struct hm_profile_site **site)
{
    size_t n = 0;
    for (size_t i = 0; i < profile->n_sites; i++)
        if (is_measured(profile, &profile->site[i], plan, has_arenas, alone_bytes))
            site[n++] = &profile->site[i];
    qsort(site, n, sizeof(*site), by_peak);
    return n;
}

static int add_site(struct hm_mbi_group *group, uint64_t id)
{
    uint64_t *more = reallocarray(group->id, group->n + 1, sizeof(*more));
    if (!more)
        return -1;
    group->id = more;
    more[group->n++] = id;
    return 0;
}

/* Returns 0, or -1: no memory. */
static int fill(struct hm_mbi_plan *plan, const struct hm_profile_site *const *site, size_t n, double alone_bytes)
{
    const size_t most = HM_MBI_RUNS / plan->repetitions - HM_MBI_GROUP;
    double bytes = 0;
    plan->group = calloc(most, sizeof(*plan->group));
    if (!plan->group)
        return -1;
    for (size_t i = 0; i < n; i++) {
        double peak = (double)site[i]->peak_bytes;
        if (plan->n_groups == 0 || (bytes + peak > alone_bytes && plan->n_groups < most)) {
            plan->n_groups++;
            bytes = 0;
        }
        bytes += peak;
        if (add_site(&plan->group[plan->n_groups - 1], site[i]->id) < 0)
            return -1;
    }
    for (size_t i = 0; i < plan->n_groups; i++)
        qsort(plan->group[i].id, plan->group[i].n, sizeof(uint64_t), by_id);
    return 0;
}

int hm_mbi_plan_make(const struct hm_profile *profile, const char *path, double alone, unsigned repetitions,
                     bool has_arenas, struct hm_mbi_plan *plan, struct hm_error *error)
{
    const struct hm_profile_site **site = calloc(profile->n_sites + 1, sizeof(*site));
    double alone_bytes = alone * (double)profile->peak_bytes;
    size_t n = site ? find_sites(profile, plan, has_arenas, alone_bytes, site) : 0;
    int status = -1;
    plan->repetitions = repetitions;
    plan->n_groups = 0;
    plan->least_bytes = HM_ALLOC_LEAST;
    for (size_t i = 0; i < n; i++)
        plan->least_bytes = hm_least(plan->least_bytes, hm_guide_least_bytes(profile, site[i]));
    if (!site)
        hm_fail(error, ENOMEM, "out of memory");
    else if (n == 0)
        hm_fail(error, ENODATA, "%s: no site has %sallocations that can be placed, so there is nothing to measure",
                path, has_arenas ? "" : "large ");
    else if (n > HM_GUIDE_SITES)
        hm_fail(error, E2BIG, "%s has more than %d sites that can be placed: use a profile with a larger --least", path,
                HM_GUIDE_SITES);
    else if (fill(plan, site, n, alone_bytes) < 0)
        hm_fail(error, ENOMEM, "out of memory");
    else
        status = 0;
    free(site);
    return status;
}

size_t hm_mbi_plan_runs(const struct hm_mbi_plan *plan)
{
    return plan->repetitions * (plan->n_groups + HM_MBI_GROUP);
}

struct hm_mbi_run hm_mbi_plan_run(const struct hm_mbi_plan *plan, size_t number)
{
    size_t each = plan->n_groups + HM_MBI_GROUP, at = number % each;
    struct hm_mbi_run run = {.repetition = (unsigned)(number / each), .part = HM_MBI_GROUP};
    if (at < HM_MBI_GROUP)
        run.part = (enum hm_mbi_part)at;
    else
        run.group = at - HM_MBI_GROUP;
    return run;
}

size_t hm_mbi_plan_number(const struct hm_mbi_plan *plan, unsigned repetition, enum hm_mbi_part part, size_t group)
{
    return repetition * (plan->n_groups + HM_MBI_GROUP) + (size_t)part + group;
}

bool hm_mbi_group_has(const struct hm_mbi_group *group, uint64_t id)
{
    return bsearch(&id, group->id, group->n, sizeof(id), by_id) != NULL;
}

void hm_mbi_plan_free(struct hm_mbi_plan *plan)
{
    for (size_t i = 0; i < plan->n_words; i++)
        free(plan->word[i]);
    for (size_t i = 0; i < plan->n_groups; i++)
        free(plan->group[i].id);
    free(plan->word);
    free(plan->group);
    free(plan->folder);
    free(plan->build_id);
    *plan = (struct hm_mbi_plan){.folder = NULL};
}
