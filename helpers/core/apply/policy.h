/* SPDX-License-Identifier: Apache-2.0 */
/* The thin edge between a plan and the kernel: set_mempolicy(2) of the calling process, and what this kernel can do. */
#ifndef HM_CORE_APPLY_POLICY_H
#define HM_CORE_APPLY_POLICY_H

#include "core/plan/plan.h"

/*
 * Give the calling process the plan's memory policy; children and exec keep it. HM_POLICY_DEFAULT changes nothing.
 * Weights are not set here: they are the system's. Returns 0, or -1 with set_mempolicy's errno.
 */
int hm_policy_apply(const struct hm_plan *plan, struct hm_error *error);

/*
 * What this kernel can do, tried where that is possible without an effect, and the interleave weights as they are now.
 * `alone` is left false. Where sysfs shows no weights has_weights is false. Returns 0 or -1.
 */
int hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *error);

/* Where the weight of a node stands in sysfs. Returns `out`. */
char *hm_policy_weight_path(int node_id, char *out, size_t size);

#endif
