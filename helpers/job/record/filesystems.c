/* SPDX-License-Identifier: Apache-2.0 */
/* The record's `namespaces`: the job's file systems on persistent memory. */
#include "parts.h"

static json_t *seconds_or_null(double seconds)
{
    return seconds >= 0 ? json_real(seconds) : json_null();
}

/* A job's namespaces are made, and removed, together: each one gets the time of all. */
json_t *hm_record_namespaces(const struct hm_job_namespaces *namespaces)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < namespaces->n && i < HM_JOB_NAMESPACES; i++) {
        const struct hm_job_namespace *one = &namespaces->each[i];
        json_array_append_new(
            list, json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "name", hm_json_text(one->name, sizeof(one->name)),
                            "socket", (int)one->socket, "bytes", hm_json_bytes(one->bytes), "fs",
                            hm_json_text(one->fs, sizeof(one->fs)), "create_s", seconds_or_null(namespaces->create_s),
                            "destroy_s", seconds_or_null(namespaces->destroy_s), "kept_until",
                            hm_json_time(namespaces->is_kept ? namespaces->kept_until_s * 1000000000 : 0)));
    }
    return list;
}
