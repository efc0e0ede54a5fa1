/* SPDX-License-Identifier: Apache-2.0 */
/* The record's `guided`: which allocation sites the profile has chosen for the fast tier, and what was expected of it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "parts.h"

static json_t *sites_of(const struct hm_guided *guided)
{
    json_t *sites = json_array();
    for (uint32_t i = 0; i < guided->n_sites && i < HM_GUIDED_SITES; i++) {
        char id[17];
        snprintf(id, sizeof(id), "%016" PRIx64, guided->site[i]);
        json_array_append_new(sites, json_string(id));
    }
    return sites;
}

json_t *hm_record_guided(const struct hm_guided *guided)
{
    if (!guided->is_known)
        return json_null();
    bool is_guided = !guided->why[0];
    return json_pack(
        "{s:o, s:o, s:o, s:I, s:o, s:o, s:n, s:o}", "profile", hm_json_text(guided->profile, sizeof(guided->profile)),
        "packer", hm_json_text(guided->packer, sizeof(guided->packer)), "sites", sites_of(guided), "site_count",
        (json_int_t)guided->n_sites, "fast_bytes", is_guided ? hm_json_bytes(guided->fast_bytes) : json_null(),
        "expected_share", is_guided ? json_real(guided->expected_share) : json_null(), "seen_share", "reason",
        hm_json_text(guided->why, sizeof(guided->why)));
}
