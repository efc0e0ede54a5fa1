/* SPDX-License-Identifier: Apache-2.0 */
#include "choose.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc/hybridmem.h"
#include "base/amount.h"
#include "pieces.h"

#define ROUNDING 0.999 /* a profile's means are rounded, and its times are not read at one moment */
#define NEARLY ((uint64_t)(HM_ALLOC_LEAST * ROUNDING))

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

double hm_guide_block_bytes(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    double n = (double)site->allocations, peak = (double)site->peak_bytes;
    double byte_s = site->mean_bytes * profile->elapsed_s, held_s = n * site->lifetime_s;
    if (!(n > 0))
        return 0;
    return byte_s > 0 && held_s > 0 ? fmin(byte_s / held_s, peak) : peak / n;
}

static bool is_small(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    return hm_guide_block_bytes(profile, site) < HM_ALLOC_LEAST * ROUNDING;
}

/* Of a class above the least size, the profile has a part only. */
static bool can_place_class(const struct hm_profile *profile, uint64_t class_bytes)
{
    return profile->build_id && class_bytes <= profile->least_bytes && class_bytes <= HM_ALLOC_LEAST;
}

/* Without arenas, small allocations share their pages with others, and stay where the program's heap is. */
bool hm_guide_can_place(const struct hm_profile *profile, const struct hm_profile_site *site, bool has_arenas)
{
    if (site->class_bytes > 0)
        return has_arenas && can_place_class(profile, site->class_bytes);
    return site->allocations > 0 && (has_arenas || !is_small(profile, site));
}

bool hm_guide_can_limit(const struct hm_profile_site *site)
{
    return site->class_bytes == 0;
}

uint64_t hm_guide_least_bytes(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    if (site->class_bytes > 0 || profile->least_bytes == 0 || hm_guide_block_bytes(profile, site) >= HM_ALLOC_LEAST)
        return HM_ALLOC_LEAST;
    return is_small(profile, site) ? hm_least(profile->least_bytes, HM_ALLOC_LEAST) : NEARLY;
}

/* What a site gains in the fast tier. */
static double value_of(const struct hm_profile *profile, const struct hm_profile_site *site, bool has_arenas)
{
    double accesses = hm_profile_accesses(site);
    return isnan(accesses) || !hm_guide_can_place(profile, site, has_arenas) ? 0 : accesses;
}

/* As a plan without the tiers' costs. */
static int pack(const struct hm_profile *profile, struct hm_guide_choice *choice, struct hm_pack_result *result,
                uint32_t *slices)
{
    double *value = calloc(profile->n_sites + 1, sizeof(*value));
    for (size_t i = 0; value && i < profile->n_sites; i++)
        value[i] = value_of(profile, &profile->site[i], choice->has_arenas);
    const struct hm_guide_packing packing = {.profile = profile,
                                             .packer = choice->packer,
                                             .scene = {.capacity = hm_least(choice->capacity_bytes, HM_PACK_MOST)},
                                             .value = value,
                                             .accesses = value};
    int status = value ? hm_guide_pack(&packing, result, slices) : -1;
    free(value);
    return status;
}

/* The slices of the site that are fast, where these are not all. */
static void add_part(const struct hm_profile_site *site, uint32_t slices, struct hm_guide_table *table)
{
    if (slices != HM_SLICES_ALL && hm_guide_find_part(table, site->id) < 0)
        table->part[table->n_parts++] = (struct hm_guide_part){site->id, site->slices.step_bytes, slices};
}

/* Returns 0, or -1: there are more sites than a table has. */
static int fill(const struct hm_profile *profile, const bool *is_fast, const uint32_t *slices,
                struct hm_guide_table *table)
{
    table->n_ids = table->n_parts = 0;
    table->program[0] = '\0';
    table->least_bytes = HM_ALLOC_LEAST;
    for (size_t i = 0; i < profile->n_sites; i++) {
        const struct hm_profile_site *site = &profile->site[i];
        if (!is_fast[i])
            continue;
        if (table->n_ids == HM_GUIDE_SITES)
            return -1;
        table->id[table->n_ids++] = site->id;
        add_part(site, slices[i], table);
        table->least_bytes = hm_least(table->least_bytes, hm_guide_least_bytes(profile, site));
        if (site->class_bytes > 0)
            snprintf(table->program, sizeof(table->program), "%s", profile->build_id);
    }
    qsort(table->id, table->n_ids, sizeof(table->id[0]), by_id);
    size_t n = 0; /* two libraries of a profile of an older build may be one now */
    for (size_t i = 0; i < table->n_ids; i++)
        if (n == 0 || table->id[n - 1] != table->id[i])
            table->id[n++] = table->id[i];
    table->n_ids = n;
    return 0;
}

int hm_guide_choose(const struct hm_profile *profile, const char *path, const struct hm_layout *layout,
                    struct hm_guide_choice *choice, struct hm_error *error)
{
    struct hm_pack_result result = {.is_fast = calloc(profile->n_sites + 1, sizeof(bool))};
    uint32_t *slices = calloc(profile->n_sites + 1, sizeof(*slices));
    double accesses = hm_profile_all_accesses(profile);
    struct hm_error why;
    int status = -1;
    if (!(accesses > 0))
        hm_fail(error, ENODATA, "%s has no accesses to choose sites by: %s", path,
                hm_profile_unsampled(profile, why.text, sizeof(why.text)));
    else if (!result.is_fast || !slices || pack(profile, choice, &result, slices) < 0)
        hm_fail(error, ENOMEM, "out of memory");
    else if (hm_guide_write_nodes(layout, choice->table.nodes) < 0)
        hm_fail_errno(error, "the tiers have more nodes than can be named");
    else if (fill(profile, result.is_fast, slices, &choice->table) < 0)
        hm_fail(error, E2BIG,
                "more than %d sites of %s would be in the fast tier: use a smaller --fast, or a profile "
                "with a larger --least",
                HM_GUIDE_SITES, path);
    else
        status = 0;
    choice->table.limited = result.limit_bytes > 0 ? profile->site[result.limited].id : 0;
    choice->table.limited_bytes = result.limit_bytes;
    choice->table.limit_bytes = choice->capacity_bytes; /* a program may have more at its sites than its profile says */
    choice->fast_bytes = result.bytes;
    choice->expected_share = fmin(result.kept / accesses, 1); /* sums are rounded */
    free(result.is_fast);
    free(slices);
    return status;
}
