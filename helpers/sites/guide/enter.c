/* SPDX-License-Identifier: Apache-2.0 */
#include "enter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/installed.h"
#include "base/preloadable.h"
#include "core/apply/policy.h"

static int set_environment(const struct hm_guide_table *table, struct hm_error *error)
{
    static char text[HM_GUIDE_TEXT];
    hm_guide_format(table, text);
    if (hm_preloadable_put(hm_guide_library(), error) != 0)
        return -1;
    return setenv(HM_GUIDE_TABLE, text, 1) == 0 ? 0 : hm_fail(error, ENOMEM, "out of memory");
}

int hm_guide_set_policy(const struct hm_layout *layout, bool is_fast, struct hm_error *error)
{
    struct hm_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return hm_fail(error, ENOMEM, "out of memory");
    plan->policy = HM_POLICY_INTERLEAVE;
    for (int i = 0; i < layout->n_nodes; i++)
        if (layout->node[i].is_fast == is_fast)
            hm_set_add(&plan->nodes, (unsigned)layout->node[i].id);
    int status = hm_policy_apply(plan, error);
    free(plan);
    return status;
}

int hm_guide_enter(const struct hm_guide_table *table, const struct hm_layout *layout, struct hm_error *error)
{
    return set_environment(table, error) == 0 ? hm_guide_set_policy(layout, false, error) : -1;
}
