/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan of a profile: what the packer sees of its sites, and what its choice gives. */
#include <math.h>
#include <stdlib.h>

#include "commands.h"
#include "plan.h"
#include "sites/guide/pieces.h"

/* What an access to a site is worth in the fast tier, where the tiers' costs are known: what it costs more elsewhere.
 */
static double gain_of(const struct hm_profile_site *site, const struct hm_sites_costs *costs)
{
    double gain = site->reads * (costs->read - 1) + site->writes * (costs->write - 1);
    return isnan(gain) ? 0 : gain;
}

static double accesses_of(const struct hm_profile_site *site)
{
    double accesses = hm_profile_accesses(site);
    return isnan(accesses) ? 0 : accesses;
}

/* The others are those of their paper, which weighs nothing. */
static void fill(const struct hm_sites_plan *plan, double *accesses, double *gain)
{
    const struct hm_sites_costs *costs = &plan->costs;
    bool has_costs = plan->packer == hm_packer_at(0) && costs->read > 0 && !(costs->fast_mbs > 0);
    for (size_t i = 0; i < plan->profile->n_sites; i++) {
        accesses[i] = accesses_of(&plan->profile->site[i]);
        gain[i] = has_costs ? gain_of(&plan->profile->site[i], costs) : accesses[i];
    }
}

int hm_sites_plan_make(struct hm_sites_plan *plan)
{
    size_t n = plan->profile->n_sites;
    double *accesses = calloc(n + 1, sizeof(*accesses)), *gain = calloc(n + 1, sizeof(*gain));
    const struct hm_sites_costs *costs = &plan->costs;
    plan->result.is_fast = calloc(n + 1, sizeof(*plan->result.is_fast));
    plan->slices = calloc(n + 1, sizeof(*plan->slices));
    plan->order = hm_sites_sort(plan->profile);
    plan->accesses = hm_profile_all_accesses(plan->profile);
    int status = accesses && gain && plan->result.is_fast && plan->slices && plan->order ? 0 : -1;
    if (status == 0) {
        fill(plan, accesses, gain);
        const struct hm_guide_packing packing = {.profile = plan->profile,
                                                 .packer = plan->packer,
                                                 .scene = {.capacity = plan->capacity,
                                                           .fast_mbs = costs->fast_mbs,
                                                           .slow_mbs = costs->slow_mbs,
                                                           .accesses = plan->accesses},
                                                 .value = gain,
                                                 .accesses = accesses};
        status = hm_guide_pack(&packing, &plan->result, plan->slices);
    }
    free(accesses);
    free(gain);
    return status;
}
