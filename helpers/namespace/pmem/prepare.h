/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a region of persistent memory lacks before jobs can have namespaces of it. Pure. */
#ifndef HM_NAMESPACE_PMEM_PREPARE_H
#define HM_NAMESPACE_PMEM_PREPARE_H

#include "share.h"

/* What is to be done in a region, in this order. */
struct hm_prepare {
    bool wants_labels;  /* its modules' label areas are to be initialised */
    uint64_t ram_bytes; /* size of a devdax namespace that is to be made, a multiple of the alignment; 0: none */
};

/*
 * Plan a region that is to have a devdax namespace of at least `ram_bytes`, as memory of the kernel; 0: it needs none.
 * `devdax_bytes`: what such namespaces have already; where there is one, it is left as it is. Returns 0, or -1 with a
 * text: ENOSPC (no gap is large enough), EEXIST (the devdax namespace that is there is smaller), or the error of
 * hm_region_check.
 */
int hm_prepare_plan(const struct hm_region *region, uint64_t devdax_bytes, uint64_t ram_bytes, struct hm_prepare *steps,
                    struct hm_error *error);

#endif
