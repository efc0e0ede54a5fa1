/* SPDX-License-Identifier: Apache-2.0 */
/* What those share that look at persistent memory through libndctl: namespaces (pmem.c) and DAX devices (ram/device.c).
 */
#ifndef HM_NAMESPACE_PMEM_PARTS_H
#define HM_NAMESPACE_PMEM_PARTS_H

#include <ndctl/libndctl.h>

#include "pmem.h"

struct hm_pmem {
    struct ndctl_ctx *context;
    struct ndctl_region *region[HM_PMEM_REGIONS]; /* of persistent memory */
    int n_regions;
};

/* Did hybridmem make this namespace? `owner` says for whom then. */
bool hm_pmem_is_ours(struct ndctl_namespace *namespace, struct hm_owner *owner);

/* The result of a step of libndctl or libdaxctl, a negated errno where it failed, as 0 or -1 with a text: "cannot
 * <what> <of>: <errno>". */
int hm_pmem_step(int result, const char *what, const char *of, struct hm_error *error);

#endif
