/* SPDX-License-Identifier: Apache-2.0 */
/* Makes devdax namespaces, which hybridmem gives to the kernel as memory (ram/), through libndctl. They belong to the
 * administrator: no job's label is on them, and hybridmem never removes one. */
#ifndef HM_NAMESPACE_PMEM_DEVDAX_H
#define HM_NAMESPACE_PMEM_DEVDAX_H

#include "parts.h"

/* Bytes of the region's devdax namespaces that hybridmem did not make for a job. */
uint64_t hm_devdax_bytes(struct ndctl_region *region);

/* Make one of `bytes`, a multiple of the region's alignment. Returns 0, or -1: then the namespace is deleted again. */
int hm_devdax_create(struct ndctl_region *region, uint64_t bytes, struct hm_error *error);

#endif
