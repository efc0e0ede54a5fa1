/* SPDX-License-Identifier: Apache-2.0 */
#include "rest.h"

bool hm_rest_has_work(const uint64_t bytes[2], uint64_t cap_bytes)
{
    uint64_t least = bytes[0] / HM_REST_SHARE > HM_REST_BYTES ? bytes[0] / HM_REST_SHARE : HM_REST_BYTES;
    return bytes[1] >= least || bytes[0] > cap_bytes;
}

void hm_rest_next(struct hm_rest *rest, const uint64_t *bytes, uint64_t cap_bytes)
{
    if (!bytes || hm_rest_has_work(bytes, cap_bytes))
        *rest = (struct hm_rest){.is_resting = false};
    else if (!rest->is_resting && ++rest->calm >= HM_REST_CALM)
        rest->is_resting = true;
}
