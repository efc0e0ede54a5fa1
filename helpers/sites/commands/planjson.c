/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON, and what both ways to show it say. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/draw/figures.h"
#include "core/plan/model.h"
#include "plan.h"
#include "sites/guide/pieces.h"

double hm_sites_plan_share(const struct hm_sites_plan *plan, double accesses)
{
    double share = plan->accesses > 0 ? accesses / plan->accesses : NAN;
    return share > 1 ? 1 : share; /* sums are rounded */
}

double hm_sites_plan_bandwidth(const struct hm_sites_plan *plan)
{
    const struct hm_sites_costs *costs = &plan->costs;
    double share = hm_sites_plan_share(plan, plan->result.kept);
    return costs->fast_mbs > 0 ? hm_spill_bandwidth(HM_CHANNELS_SEPARATE, costs->fast_mbs, costs->slow_mbs, share)
                               : NAN;
}

bool hm_sites_plan_divides(const struct hm_sites_plan *plan, size_t at)
{
    return plan->result.is_fast[at] && plan->slices[at] != HM_SLICES_ALL;
}

/* The site that has a limit, or null. */
static json_t *limited(const struct hm_sites_plan *plan)
{
    const struct hm_pack_result *result = &plan->result;
    char id[17];
    if (result->limit_bytes == 0)
        return json_null();
    snprintf(id, sizeof(id), "%016" PRIx64, plan->profile->site[result->limited].id);
    return json_pack("{s:s, s:I}", "id", id, "bytes", (json_int_t)result->limit_bytes);
}

/* The sites of which only some slices are fast. */
static json_t *parts(const struct hm_sites_plan *plan)
{
    json_t *all = json_array();
    size_t n = 0;
    for (size_t i = 0; i < plan->profile->n_sites; i++) {
        char id[17];
        size_t at = plan->order[i];
        const struct hm_profile_site *site = &plan->profile->site[at];
        if (!hm_sites_plan_divides(plan, at))
            continue;
        json_t *slices = json_array();
        for (int slice = 0; slice < HM_SLICES; slice++)
            if (plan->slices[at] >> slice & 1)
                json_array_append_new(slices, json_integer(slice));
        snprintf(id, sizeof(id), "%016" PRIx64, site->id);
        json_array_append_new(all, json_pack("{s:s, s:o, s:I}", "id", id, "slices",
                                             hm_figures_whole(slices, (size_t)__builtin_popcount(plan->slices[at])),
                                             "bytes", (json_int_t)hm_guide_slices_bytes(site, plan->slices[at])));
        n++;
    }
    return hm_figures_whole(all, n);
}

int hm_sites_plan_print_json(const struct hm_sites_plan *plan)
{
    const struct hm_pack_result *result = &plan->result;
    json_t *fast = json_array();
    size_t n = 0;
    for (size_t i = 0; i < plan->profile->n_sites; i++) {
        char id[17];
        size_t at = plan->order[i];
        if (!result->is_fast[at])
            continue;
        snprintf(id, sizeof(id), "%016" PRIx64, plan->profile->site[at].id);
        json_array_append_new(fast, json_string(id));
        n++;
    }
    json_t *all =
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "packer", plan->packer->name,
                  "capacity_bytes", (json_int_t)plan->capacity, "fast", hm_figures_whole(fast, n), "limited",
                  limited(plan), "parts", parts(plan), "fast_bytes", (json_int_t)result->bytes, "expected_share",
                  hm_figures_real(hm_sites_plan_share(plan, result->kept)), "bound_share",
                  hm_figures_real(hm_sites_plan_share(plan, result->is_exact ? result->value : result->bound)),
                  "read_cost", hm_figures_real(plan->costs.read > 0 ? plan->costs.read : NAN), "write_cost",
                  hm_figures_real(plan->costs.read > 0 ? plan->costs.write : NAN), "bandwidth_mbs",
                  hm_figures_real(hm_sites_plan_bandwidth(plan)));
    return hm_figures_end(stdout, all, JSON_INDENT(2));
}
