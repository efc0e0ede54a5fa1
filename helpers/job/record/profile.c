/* SPDX-License-Identifier: Apache-2.0 */
/* The record's `profile`: the profile by allocation site that the job has left. */
#include "parts.h"

json_t *hm_record_profile(const struct hm_profiled *profiled)
{
    if (!profiled->is_known)
        return json_null();
    return json_pack("{s:o, s:s, s:o}", "file", hm_json_text(profiled->file, sizeof(profiled->file)), "method",
                     "sample", "reason", hm_json_text(profiled->why, sizeof(profiled->why)));
}
