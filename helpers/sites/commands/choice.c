/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <string.h>

#include "base/amount.h"
#include "base/size.h"

int hm_sites_take_fast(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_choice *choice = data;
    choice->has_fast = true;
    if (strchr(text, '%'))
        return hm_size_parse_percent(text, &choice->percent, error);
    choice->percent = -1;
    return hm_size_parse(text, &choice->bytes, error);
}

int hm_sites_take_packer(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_choice *choice = data;
    choice->packer = hm_packer_find(text, error);
    return choice->packer ? 0 : -1;
}

uint64_t hm_sites_capacity(const struct hm_sites_choice *choice, const struct hm_profile *profile)
{
    uint64_t bytes =
        choice->percent < 0 ? choice->bytes : (uint64_t)((double)profile->peak_bytes * choice->percent / 100);
    return hm_least(bytes, HM_PACK_MOST);
}
