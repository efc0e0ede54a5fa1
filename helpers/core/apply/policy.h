/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a plan to the kernel: set_mempolicy(2) for the calling thread. Also finds out what this kernel can do. */
#ifndef HM_CORE_APPLY_POLICY_H
#define HM_CORE_APPLY_POLICY_H

#include "core/plan/plan.h"

/* Linux 6.16: "true" while the kernel sets the weights; writing a weight makes it "false". */
#define HM_WEIGHTS_AUTO "/sys/kernel/mm/mempolicy/weighted_interleave/auto"

/*
 * Set the plan's memory policy for the calling thread; children keep it, also over exec. HM_POLICY_DEFAULT changes
 * nothing. Interleave weights are not set here, as they belong to the whole system. Returns 0, or -1: EINVAL for a node
 * number that no kernel has, else the errno of set_mempolicy.
 */
int hm_policy_apply(const struct hm_plan *plan, struct hm_error *error);

/* Find out what this node can do, by trying it where that has no effect, and read the current interleave weights.
 * `alone` is left false, and `regions` empty: the caller fills them in. `has_weights` is false where sysfs lacks the
 * weight of an allowed node with memory. Returns 0 or -1. */
int hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *error);

/* Reads the current interleave weights alone, as hm_abilities_read does: they may have changed since. */
void hm_abilities_read_weights(const struct hm_tiers *tiers, struct hm_abilities *abilities);

/* The path of a node's interleave weight in sysfs. Returns `out`. */
char *hm_policy_weight_path(int node_id, char *out, size_t size);

#endif
