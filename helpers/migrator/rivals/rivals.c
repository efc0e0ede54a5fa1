/* SPDX-License-Identifier: Apache-2.0 */
#include "rivals.h"

static const struct hm_algorithm *const rivals[] = {&hm_rival_hemem, &hm_rival_memtis, &hm_rival_colloid,
                                                    &hm_rival_arms};

const struct hm_algorithm *hm_rival_at(int n)
{
    return n >= 0 && (size_t)n < sizeof(rivals) / sizeof(rivals[0]) ? rivals[n] : NULL;
}
