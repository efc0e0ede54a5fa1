/* SPDX-License-Identifier: Apache-2.0 */
/* The record's `profile`: the profile by allocation site that the job has left, or the run of a plan that it was. */
#include "parts.h"

json_t *hm_record_profile(const struct hm_profiled *profiled)
{
    if (!profiled->is_known)
        return json_null();
    bool is_mbi = profiled->method == HM_METHOD_MBI;
    json_t *object = json_object();
    json_object_set_new(object, "file", hm_json_text(profiled->file, sizeof(profiled->file)));
    json_object_set_new(object, "method", json_string(is_mbi ? "mbi" : "sample"));
    json_object_set_new(object, "reason", hm_json_text(profiled->why, sizeof(profiled->why)));
    json_object_set_new(object, "plan", is_mbi ? hm_json_text(profiled->plan, sizeof(profiled->plan)) : json_null());
    json_object_set_new(object, "run", is_mbi ? json_integer(profiled->run) : json_null());
    json_object_set_new(object, "period", profiled->period > 0 ? hm_json_bytes(profiled->period) : json_null());
    json_object_set_new(object, "rate_reason", hm_json_text(profiled->unrated, sizeof(profiled->unrated)));
    json_object_set_new(object, "unsampled", hm_json_text(profiled->unsampled, sizeof(profiled->unsampled)));
    return object;
}
