/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a plan to people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/plural.h"
#include "base/size.h"
#include "cli/draw/table.h"
#include "commands.h"
#include "plan.h"
#include "sites/guide/choose.h"
#include "sites/guide/pieces.h"

#define FACT 10 /* column of a fact */

enum { SITE, TIER, PEAK, ACCESSES, WHY, WHERE, N_COLUMNS };
static const struct hm_column columns[N_COLUMNS] = {
    [SITE] = {.title = "SITE"},
    [TIER] = {.title = "TIER"},
    [PEAK] = {.title = "PEAK", .is_right = true},
    [ACCESSES] = {.title = "ACCESSES", .is_right = true},
    [WHY] = {.title = "WHY"},
    [WHERE] = {.title = "WHERE"},
};

/* Is a site left out though there is room, as both tiers serve more than the fast one alone? */
static bool is_for_balance(const struct hm_sites_plan *plan, const struct hm_profile_site *site)
{
    return plan->costs.fast_mbs > 0 && plan->result.bytes + hm_profile_room(site, site->peak_bytes) <= plan->capacity;
}

static bool is_limited(const struct hm_sites_plan *plan, size_t at)
{
    return plan->result.limit_bytes > 0 && at == plan->result.limited;
}

/* Of what is touched of a site, are only some slices fast? */
static bool takes_a_part(const struct hm_sites_plan *plan, size_t at)
{
    return hm_sites_plan_divides(plan, at) && plan->slices[at] != hm_profile_touched(&plan->profile->site[at]);
}

static const char *tier(const struct hm_sites_plan *plan, size_t at)
{
    if (is_limited(plan, at) || takes_a_part(plan, at))
        return "part";
    return plan->result.is_fast[at] ? "fast" : "slow";
}

static const char *why(const struct hm_sites_plan *plan, size_t at)
{
    const struct hm_profile_site *site = &plan->profile->site[at];
    double accesses = hm_profile_accesses(site);
    if (isnan(accesses))
        return "its accesses are not known";
    if (!(accesses > 0))
        return "no access was seen";
    if (is_limited(plan, at))
        return "what the others leave";
    if (takes_a_part(plan, at))
        return "its most used slices";
    if (hm_profile_room(site, site->peak_bytes) > plan->capacity)
        return plan->result.is_fast[at] ? "the part that finds room" : "larger than the tier";
    if (plan->result.is_fast[at])
        return "accesses per byte";
    return is_for_balance(plan, site) ? "the slow tier's bandwidth" : "others are worth more";
}

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct hm_sites_plan *plan = data;
    size_t at = plan->order[row];
    const struct hm_profile_site *site = &plan->profile->site[at];
    double share = hm_sites_plan_share(plan, hm_profile_accesses(site));
    switch (column) {
    case SITE:
        snprintf(cell, HM_TABLE_CELL, "%016" PRIx64, site->id);
        break;
    case TIER:
        snprintf(cell, HM_TABLE_CELL, "%s", tier(plan, at));
        break;
    case PEAK:
        hm_size_format(site->peak_bytes, cell, HM_TABLE_CELL);
        break;
    case ACCESSES:
        snprintf(cell, HM_TABLE_CELL, isnan(share) ? "-" : "%.1f %%", 100 * share);
        break;
    case WHY:
        snprintf(cell, HM_TABLE_CELL, "%s", why(plan, at));
        break;
    default:
        hm_sites_where(plan->profile, &plan->names, site, cell, HM_TABLE_CELL);
    }
}

static void put_fact(size_t screen, const char *name, const char *text)
{
    hm_words_put_row(stdout, screen, FACT, text, "%s", name);
}

/* Says how many of the chosen sites the guide leaves in the slow tier, if any. */
static void put_unplaced(const struct hm_sites_plan *plan, size_t screen)
{
    char text[160];
    size_t n = 0;
    for (size_t i = 0; i < plan->profile->n_sites; i++)
        n += plan->result.is_fast[i] && !hm_guide_can_place(plan->profile, &plan->profile->site[i], plan->has_arenas);
    if (n == 0)
        return;
    snprintf(text, sizeof(text), "%zu of these sites %s in the slow tier with hybridmem sites guide: %s", n,
             hm_plural(n, "stays", "stay"),
             plan->has_arenas ? "the profile has a part of their size class, or no build-id"
                              : "their allocations are small, and hybridmem was built without jemalloc");
    put_fact(screen, "guide", text);
}

/* Says what one site has at most, if any has a limit. */
static void put_limit(const struct hm_sites_plan *plan, size_t screen)
{
    const struct hm_pack_result *result = &plan->result;
    char text[128], size[2][24];
    if (result->limit_bytes == 0)
        return;
    const struct hm_profile_site *site = &plan->profile->site[result->limited];
    snprintf(text, sizeof(text), "site %016" PRIx64 " has at most %s of its %s there", site->id,
             hm_size_format(result->limit_bytes, size[0], sizeof(size[0])),
             hm_size_format(site->peak_bytes, size[1], sizeof(size[1])));
    put_fact(screen, "limit", text);
}

/* Says what is fast of each site that is divided. */
static void put_parts(const struct hm_sites_plan *plan, size_t screen)
{
    char text[128], size[2][24];
    for (size_t i = 0; i < plan->profile->n_sites; i++) {
        size_t at = plan->order[i];
        const struct hm_profile_site *site = &plan->profile->site[at];
        if (!hm_sites_plan_divides(plan, at))
            continue;
        bool is_counted = hm_slices_count(&site->slices) > 0;
        snprintf(text, sizeof(text), "site %016" PRIx64 " has %d of its %d slices there, %s of its %s", site->id,
                 __builtin_popcount(plan->slices[at]), is_counted ? hm_slices_count(&site->slices) : HM_SLICES,
                 hm_size_format(hm_guide_slices_bytes(site, plan->slices[at]), size[0], sizeof(size[0])),
                 hm_size_format(site->peak_bytes, size[1], sizeof(size[1])));
        put_fact(screen, "part", text);
    }
}

void hm_sites_plan_print(const struct hm_sites_plan *plan)
{
    const struct hm_pack_result *result = &plan->result;
    size_t screen = hm_words_columns(stdout);
    char text[256], size[2][24];
    const struct hm_table table = {columns, N_COLUMNS, plan->profile->n_sites, write_cell, plan};
    snprintf(text, sizeof(text), "%s: %s", plan->packer->name, plan->packer->summary);
    put_fact(screen, "packer", text);
    snprintf(text, sizeof(text), "%s, of %s at the peak", hm_size_format(plan->capacity, size[0], sizeof(size[0])),
             hm_size_format(hm_profile_room_of_all(plan->profile), size[1], sizeof(size[1])));
    put_fact(screen, "capacity", text);
    snprintf(text, sizeof(text), "%s at one time%s", hm_size_format(result->bytes, size[0], sizeof(size[0])),
             result->bytes > plan->capacity ? ", more than fits: some of it will be in the slow tier" : "");
    put_fact(screen, "fast", text);
    snprintf(text, sizeof(text),
             "%.1f %% of the accesses served by the fast tier; no choice that fits has more than %.1f %%",
             100 * hm_sites_plan_share(plan, result->kept),
             100 * hm_sites_plan_share(plan, result->is_exact ? result->value : result->bound));
    put_fact(screen, "expected", text);
    put_limit(plan, screen);
    put_parts(plan, screen);
    put_unplaced(plan, screen);
    if (plan->costs.text[0])
        put_fact(screen, "tiers", plan->costs.text);
    if (plan->costs.fast_mbs > 0) {
        snprintf(text, sizeof(text), "%.1f GB/s of both tiers together, where the bandwidth is used up",
                 hm_sites_plan_bandwidth(plan) / 1000);
        put_fact(screen, "bandwidth", text);
    }
    putchar('\n');
    hm_table_print(stdout, &table, screen);
}
