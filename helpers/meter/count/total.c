/* SPDX-License-Identifier: Apache-2.0 */
#include "total.h"

static void note(struct hm_total *total, enum hm_counter_state state)
{
    if (total->problem == HM_COUNTER_VALID)
        total->problem = state;
}

void hm_total_add(struct hm_total *total, enum hm_counter_state state, uint64_t difference, double factor)
{
    note(total, state);
    if (state != HM_COUNTER_VALID)
        return;
    total->amount += (double)difference * factor;
    total->n++;
}

void hm_total_regroup(struct hm_total *total)
{
    if (total->problem == HM_COUNTER_VALID || total->problem == HM_COUNTER_RESET)
        total->problem = HM_COUNTER_REGROUPED;
}

void hm_total_join(struct hm_total *total, const struct hm_total *other)
{
    note(total, other->problem != HM_COUNTER_VALID || other->n > 0 ? other->problem : HM_COUNTER_FIRST);
    total->amount += other->amount;
    total->n += other->n;
}

bool hm_total_is_known(const struct hm_total *total)
{
    return total->n > 0 && total->problem == HM_COUNTER_VALID;
}
