/* SPDX-License-Identifier: Apache-2.0 */
#include "choose.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* What the packer sees of a site. Small allocations share their pages with others, and stay where the program's heap
 * is. */
static struct hm_pack_item item_of(const struct hm_profile_site *site)
{
    double accesses = hm_profile_accesses(site);
    bool is_left = site->class_bytes > 0 || isnan(accesses);
    return (struct hm_pack_item){site->peak_bytes, is_left ? 0 : accesses};
}

static int pack(const struct hm_profile *profile, struct hm_guide_choice *choice, struct hm_pack_result *result)
{
    struct hm_pack_item *item = calloc(profile->n_sites + 1, sizeof(*item));
    for (size_t i = 0; item && i < profile->n_sites; i++)
        item[i] = item_of(&profile->site[i]);
    int status =
        item ? hm_pack(choice->packer, item, profile->n_sites, hm_least(choice->capacity_bytes, HM_PACK_MOST), result)
             : -1;
    free(item);
    return status;
}

/* Returns 0, or -1: there are more sites than a table has. */
static int fill(const struct hm_profile *profile, const bool *is_fast, struct hm_guide_table *table)
{
    for (size_t i = 0; i < profile->n_sites; i++) {
        if (!is_fast[i])
            continue;
        if (table->n_ids == HM_GUIDE_SITES)
            return -1;
        table->id[table->n_ids++] = profile->site[i].id;
    }
    qsort(table->id, table->n_ids, sizeof(table->id[0]), by_id);
    return 0;
}

int hm_guide_choose(const struct hm_profile *profile, const char *path, const struct hm_layout *layout,
                    struct hm_guide_choice *choice, struct hm_error *error)
{
    struct hm_pack_result result = {.is_fast = calloc(profile->n_sites + 1, sizeof(bool))};
    double accesses = hm_profile_all_accesses(profile);
    int status = -1;
    choice->table.n_ids = 0;
    if (!(accesses > 0))
        hm_fail(error, ENODATA, "%s has no accesses to choose sites by: %s", path,
                profile->why ? profile->why : "no sample was taken");
    else if (!result.is_fast || pack(profile, choice, &result) < 0)
        hm_fail(error, ENOMEM, "out of memory");
    else if (hm_guide_write_nodes(layout, choice->table.nodes) < 0)
        hm_fail_errno(error, "the tiers have more nodes than can be named");
    else if (fill(profile, result.is_fast, &choice->table) < 0)
        hm_fail(error, E2BIG,
                "more than %d sites of %s would be in the fast tier: use a smaller --fast, or a profile "
                "with a larger --least",
                HM_GUIDE_SITES, path);
    else
        status = 0;
    choice->fast_bytes = result.bytes;
    choice->expected_share = result.kept / accesses;
    free(result.is_fast);
    return status;
}
