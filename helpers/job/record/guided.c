/* SPDX-License-Identifier: Apache-2.0 */
/* The record's `guided`: which allocation sites the profile has chosen for the fast tier, and what was expected of it.
 * What was seen of it is in seen.c. */
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

/* How much of a profile of another build the program has, too. */
static json_t *stale_of(const struct hm_guided *guided)
{
    if (guided->stale_sites == 0)
        return json_null();
    return json_pack("{s:o, s:o}", "sites", hm_json_bytes(guided->stale_sites), "found",
                     hm_json_bytes(guided->stale_found));
}

/* What guidance online has done. */
static json_t *online_of(const struct hm_guided *guided)
{
    if (!guided->is_online)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "decisions", hm_json_bytes(guided->decisions), "promoted_bytes",
                     hm_json_bytes(guided->promoted_bytes), "demoted_bytes", hm_json_bytes(guided->demoted_bytes));
}

json_t *hm_record_guided(const struct hm_job *job, const struct hm_record_tiers *tiers, const json_t *traffic)
{
    const struct hm_guided *guided = &job->guided;
    if (!guided->is_known)
        return json_null();
    bool is_guided = !guided->why[0];
    json_t *object = json_object();
    json_object_set_new(object, "profile", hm_json_text(guided->profile, sizeof(guided->profile)));
    json_object_set_new(object, "input", hm_json_text(guided->input, sizeof(guided->input)));
    json_object_set_new(object, "packer", hm_json_text(guided->packer, sizeof(guided->packer)));
    json_object_set_new(object, "sites", sites_of(guided));
    json_object_set_new(object, "site_count", json_integer((json_int_t)guided->n_sites));
    json_object_set_new(object, "fast_bytes", is_guided ? hm_json_bytes(guided->fast_bytes) : json_null());
    json_object_set_new(object, "limit_bytes", is_guided ? hm_json_bytes(guided->limit_bytes) : json_null());
    json_object_set_new(object, "expected_share", is_guided ? json_real(guided->expected_share) : json_null());
    hm_record_set_seen(object, job, tiers, traffic);
    json_object_set_new(object, "reason", hm_json_text(guided->why, sizeof(guided->why)));
    json_object_set_new(object, "stale", stale_of(guided));
    json_object_set_new(object, "online", online_of(guided));
    json_object_set_new(object, "fallback", guided->is_migrated ? json_string("migrate") : json_null());
    return object;
}
