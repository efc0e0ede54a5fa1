/* SPDX-License-Identifier: Apache-2.0 */
#include "metered.h"

#include <string.h>

#define MOST_AMOUNT 1e30 /* a larger amount is not believed; sums and means of smaller ones are finite */

double hm_metered_seconds(const struct hm_metered *metered)
{
    return (double)(metered->last_mono_ns - metered->first_mono_ns) / 1e9;
}

bool hm_metered_power(const struct hm_metered_figure energy[HM_DOMAINS], double *joules)
{
    *joules = energy[HM_DOMAIN_PACKAGE].amount;
    if (energy[HM_DOMAIN_MEMORY].is_known)
        *joules += energy[HM_DOMAIN_MEMORY].amount;
    return energy[HM_DOMAIN_PACKAGE].is_known;
}

static bool is_figure(const struct hm_metered_figure *figure)
{
    return figure->is_known <= 1 && figure->amount >= 0 && figure->amount <= MOST_AMOUNT;
}

const char *hm_metered_bad(const struct hm_metered *metered)
{
    if (metered->last_mono_ns < metered->first_mono_ns)
        return "metered time";
    for (int i = 0; i < HM_DOMAINS; i++)
        if (!is_figure(&metered->energy[i]))
            return "energy";
    if (!is_figure(&metered->peak_w))
        return "peak_w";
    for (int t = 0; t < HM_MAX_TIERS; t++)
        for (int d = 0; d < HM_DIRECTIONS; d++)
            if (!is_figure(&metered->traffic[t][d]))
                return "traffic";
    for (int i = 0; i < HM_GROUP_BYTES; i++)
        if (!is_figure(&metered->group[i]))
            return "group";
    if (!memchr(metered->energy_source, '\0', sizeof(metered->energy_source)) ||
        !memchr(metered->traffic_source, '\0', sizeof(metered->traffic_source)) ||
        !memchr(metered->group_source, '\0', sizeof(metered->group_source)))
        return "metered source";
    return NULL;
}
