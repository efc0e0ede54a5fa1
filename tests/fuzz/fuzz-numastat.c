/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parsers for what the monitor reads of a cgroup; the first byte chooses which. */
#include <stdlib.h>

#include "inputtext.h"
#include "meter/memory/cgroup.h"
#include "meter/memory/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_node_map map;
    struct hm_set nodes[2] = {{{0x5}}, {{0xa}}};
    struct hm_usage usage[HM_MAX_TIERS] = {{0}};
    bool outside = false;
    if (size == 0)
        return 0;
    hm_node_map_fill(&map, nodes, 2);
    char *text = input_text(data + 1, size - 1);
    if (!text)
        return 0;
    if (data[0] % 3 == 0)
        hm_numastat_parse(text, size - 1, &map, usage, &outside);
    else if (data[0] % 3 == 1)
        hm_hugetlb_parse(text, size - 1, &map, usage, &outside);
    else
        hm_guard_parse(text);
    for (int t = 2; t < HM_MAX_TIERS; t++) /* tiers without nodes */
        if (hm_usage_total(&usage[t]) != 0)
            abort();
    free(text);
    return 0;
}
