/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the text of a tier between the fast and the slow one: an accepted one has nodes, and a latency of writes only
 * beside one of reads. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "inputtext.h"
#include "migrator/live/optiontiers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 0 stands for one that was not given. */
static bool may_be(double latency)
{
    return fpclassify(latency) == FP_ZERO || (latency >= 1 && latency <= HM_OPTIONS_MOST_LATENCY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_middle_tier tier;
    char *text = input_text(data, size);
    if (hm_middle_tier_parse(text, &tier, NULL) == 0) {
        if (hm_set_is_empty(&tier.nodes) || !may_be(tier.lat_read) || !may_be(tier.lat_write) ||
            (tier.lat_write > 0 && !(tier.lat_read > 0)))
            abort();
    }
    free(text);
    return 0;
}
