/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan of a profile: what the packer sees of its sites, and what its choice gives. */
#include <math.h>
#include <stdlib.h>

#include "commands.h"
#include "plan.h"
#include "sites/guide/choose.h"

_Static_assert(HM_PACK_PARTS == HM_PROFILE_PARTS, "packers know the parts of a profile");

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

struct work {
    struct hm_pack_scene scene;
    struct hm_pack_item *accesses, *gain; /* the same items, by what they are worth */
    const uint64_t **series;
    bool *is_limitable;
};

static void fill(struct work *work, const struct hm_sites_plan *plan)
{
    const struct hm_sites_costs *costs = &plan->costs;
    bool has_costs = costs->read > 0 && !(costs->fast_mbs > 0);
    for (size_t i = 0; i < plan->profile->n_sites; i++) {
        const struct hm_profile_site *site = &plan->profile->site[i];
        work->accesses[i] = work->gain[i] = (struct hm_pack_item){site->peak_bytes, accesses_of(site)};
        if (has_costs)
            work->gain[i].value = gain_of(site, costs);
        work->series[i] = site->has_series ? site->series : NULL;
        work->is_limitable[i] = hm_guide_can_limit(site);
    }
    work->scene = (struct hm_pack_scene){.capacity = plan->capacity,
                                         .series = work->series,
                                         .fast_mbs = costs->fast_mbs,
                                         .slow_mbs = costs->slow_mbs,
                                         .accesses = plan->accesses,
                                         .is_limitable = work->is_limitable};
}

int hm_sites_plan_make(struct hm_sites_plan *plan)
{
    size_t n = plan->profile->n_sites;
    struct work work = {.accesses = calloc(n + 1, sizeof(*work.accesses)),
                        .gain = calloc(n + 1, sizeof(*work.gain)),
                        .series = calloc(n + 1, sizeof(*work.series)),
                        .is_limitable = calloc(n + 1, sizeof(*work.is_limitable))};
    plan->result.is_fast = calloc(n + 1, sizeof(bool));
    plan->order = hm_sites_sort(plan->profile);
    plan->accesses = hm_profile_all_accesses(plan->profile);
    int status = work.accesses && work.gain && work.series && work.is_limitable ? 0 : -1;
    if (!plan->result.is_fast || !plan->order)
        status = -1;
    if (status == 0) {
        fill(&work, plan);
        /* The others are those of their paper, which weighs nothing. */
        const struct hm_pack_item *item = plan->packer == hm_packer_at(0) ? work.gain : work.accesses;
        status = hm_pack_into(plan->packer, &work.scene, item, n, &plan->result);
    }
    if (status == 0)
        status = hm_pack_measure(&work.scene, work.accesses, n, &plan->result);
    free(work.accesses);
    free(work.gain);
    free(work.series);
    free(work.is_limitable);
    return status;
}
