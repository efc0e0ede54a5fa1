/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

uint64_t hm_usage_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > HM_USAGE_MOST ? HM_USAGE_MOST : sum;
}

uint64_t hm_usage_total(const struct hm_usage *usage)
{
    uint64_t user = hm_usage_add(hm_usage_add(usage->anon, usage->file), usage->shmem);
    return hm_usage_add(hm_usage_add(user, usage->kernel), usage->hugetlb);
}
