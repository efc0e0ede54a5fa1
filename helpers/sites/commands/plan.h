/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of `hybridmem sites plan`, and how it is shown. */
#ifndef HM_SITES_COMMANDS_PLAN_H
#define HM_SITES_COMMANDS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "costs.h"
#include "names.h"
#include "sites/pack/pack.h"
#include "sites/profile/profile.h"

struct hm_sites_plan {
    const struct hm_profile *profile;
    const struct hm_packer *packer;
    struct hm_sites_costs costs;
    uint64_t capacity;
    bool has_arenas;              /* can the guide here place small allocations? */
    double accesses;              /* of the whole program */
    struct hm_pack_result result; /* its values are accesses */
    uint32_t *slices;             /* of each site, those that are fast */
    size_t *order;
    struct hm_sites_names names; /* where people read the plan */
};

/* Chooses the sites; all but the result and the order is given. Returns 0, or -1 (ENOMEM). */
int hm_sites_plan_make(struct hm_sites_plan *plan);

/* Are only some slices of a site fast? */
bool hm_sites_plan_divides(const struct hm_sites_plan *plan, size_t at);
/* So many accesses as a share of the program's; NaN: it has none. */
double hm_sites_plan_share(const struct hm_sites_plan *plan, double accesses);
/* What both tiers serve in MB/s, where all accesses of the program wait for the bandwidth; NaN: not known. */
double hm_sites_plan_bandwidth(const struct hm_sites_plan *plan);

void hm_sites_plan_print(const struct hm_sites_plan *plan);
/* Returns as hm_figures_end. */
int hm_sites_plan_print_json(const struct hm_sites_plan *plan);

#endif
