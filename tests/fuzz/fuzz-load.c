/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the text that describes two tiers under load: an accepted one has rising curves, and a best share in range. */
#include <stdint.h>
#include <stdlib.h>

#include "core/load/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hm_curve *curve)
{
    if (curve->n == 0 || curve->n > HM_CURVE_POINTS || !(hm_curve_idle_ns(curve) > 0) ||
        !(hm_curve_most_gbs(curve) > 0))
        abort();
    for (size_t i = 1; i < curve->n; i++)
        if (!(curve->point[i].traffic_gbs > curve->point[i - 1].traffic_gbs) ||
            !(curve->point[i].latency_ns >= curve->point[i - 1].latency_ns))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_load load;
    if (hm_load_parse("load", (const char *)data, size, &load, NULL) < 0)
        return 0;
    check(&load.fast);
    check(&load.slow);
    double total = hm_curve_most_gbs(&load.fast) + hm_curve_most_gbs(&load.slow);
    double best = hm_load_best(&load, total, total / 2);
    if (!(best >= 0 && best <= total / 2))
        abort();
    double cost = hm_load_cost(&load, best, total - best) * (1 - 1e-9); /* but for rounding */
    if (cost > hm_load_cost(&load, 0, total) || cost > hm_load_cost(&load, total / 2, total / 2))
        abort();
    return 0;
}
