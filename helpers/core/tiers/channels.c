/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether two tiers share their memory channels. */
#include "tiers.h"

#include <string.h>

static bool is_tier(const struct hm_tier *tier, const char *name_or_kind)
{
    return strcmp(tier->name, name_or_kind) == 0 || strcmp(hm_kind_name(tier->kind), name_or_kind) == 0;
}

bool hm_tiers_are_pair(const struct hm_config_channels *pair, const struct hm_tier *a, const struct hm_tier *b)
{
    return (is_tier(a, pair->fast) && is_tier(b, pair->slow)) || (is_tier(a, pair->slow) && is_tier(b, pair->fast));
}

enum hm_channels hm_tiers_channels(const struct hm_config *config, const struct hm_tier *fast,
                                   const struct hm_tier *slow)
{
    const enum hm_kind kinds[] = {fast->kind, slow->kind};
    for (int i = 0; i < config->n_channels; i++)
        if (hm_tiers_are_pair(&config->channels[i], fast, slow))
            return config->channels[i].channels;
    for (int i = 0; i < 2; i++)
        if (kinds[i] == HM_KIND_CXL || kinds[i] == HM_KIND_HBM)
            return HM_CHANNELS_SEPARATE;
    return HM_CHANNELS_SHARED;
}
