/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the text of a tier between the fast and the slow one: an accepted one has nodes, and both latencies or none.
 */
#include <stdint.h>
#include <stdlib.h>

#include "inputtext.h"
#include "migrator/live/optiontiers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_latency(double latency)
{
    return latency >= 1 && latency <= HM_OPTIONS_MOST_LATENCY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_middle_tier tier;
    char *text = input_text(data, size);
    if (hm_middle_tier_parse(text, &tier, NULL) == 0) {
        bool has_none = !(tier.lat_read > 0) && !(tier.lat_write > 0);
        if (hm_set_is_empty(&tier.nodes) || (!has_none && !(is_latency(tier.lat_read) && is_latency(tier.lat_write))))
            abort();
    }
    free(text);
    return 0;
}
