/* SPDX-License-Identifier: Apache-2.0 */
#include "growth.h"

#include <stdbool.h>

#include "base/amount.h"

void hm_growth_note(struct hm_growth *growth, uint64_t now_ns, uint64_t bytes)
{
    size_t i = growth->n++ % HM_GROWTH_LOOKS;
    growth->look[i].at_ns = now_ns;
    growth->look[i].bytes = bytes;
}

uint64_t hm_growth_expected(const struct hm_growth *growth, uint64_t now_ns, uint64_t reaction_ns, uint64_t bytes)
{
    uint64_t peak = bytes, before = 0, n_before = 0;
    for (size_t i = 0; i < growth->n && i < HM_GROWTH_LOOKS; i++) {
        bool is_before = now_ns - growth->look[i].at_ns >= reaction_ns;
        peak = hm_most(peak, growth->look[i].bytes);
        before = is_before ? hm_most(before, growth->look[i].bytes) : before;
        n_before += is_before;
    }
    return n_before == 0 ? HM_GROWTH_UNKNOWN : hm_most(peak - bytes, peak - before);
}
