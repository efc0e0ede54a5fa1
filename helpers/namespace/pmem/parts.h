/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that use libndctl: those for namespaces (open.c, pmem.c) and for DAX devices (ram/device.c). */
#ifndef HM_NAMESPACE_PMEM_PARTS_H
#define HM_NAMESPACE_PMEM_PARTS_H

#include <ndctl/libndctl.h>

#include "pmem.h"

struct hm_pmem {
    struct ndctl_ctx *context;
    struct ndctl_region *region[HM_PMEM_REGIONS]; /* regions of persistent memory */
    int n_regions;
};

/* The region with this name of the kernel's; NULL: there is none. */
struct ndctl_region *hm_pmem_region(struct hm_pmem *pmem, const char *name);

/* Did hybridmem make this namespace? Then `owner` gets its owner. */
bool hm_pmem_is_ours(struct ndctl_namespace *namespace, struct hm_owner *owner);

/* Turn the result of a call of libndctl or libdaxctl (a negated errno where it failed) into 0, or -1 with the text
 * "cannot <what> <of>: <errno>". */
int hm_pmem_step(int result, const char *what, const char *of, struct hm_error *error);

#endif
