/* SPDX-License-Identifier: Apache-2.0 */
/* What a choice leaves of the capacity. */
#include "base/amount.h"
#include "meter.h"

void hm_pack_limit(struct hm_pack_meter *meter, const struct hm_pack_sum *sum, struct hm_pack_result *result)
{
    double best = hm_pack_score(meter->scene, sum->value), before = best;
    uint64_t left = hm_less(meter->scene->capacity, hm_pack_most(meter, sum));
    for (size_t i = 0; i < meter->n_used && meter->scene->is_limitable && left > 0; i++) {
        size_t at = meter->order[i];
        if (result->is_fast[at] || !meter->scene->is_limitable[at])
            continue;
        meter->limited = at;
        meter->limit_bytes = left;
        double score = hm_pack_score(meter->scene, sum->value + hm_pack_value(meter, at));
        if (score > best) {
            best = score;
            result->limited = at;
        }
    }
    meter->limit_bytes = 0;
    if (best > before) {
        result->is_fast[result->limited] = true;
        result->limit_bytes = left;
    }
}
