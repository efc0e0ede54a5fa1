/* SPDX-License-Identifier: Apache-2.0 */
/* What allocate.c, deallocate.c and resize.c share; for these only. */
#ifndef HM_ALLOC_ALLOCATEPARTS_H
#define HM_ALLOC_ALLOCATEPARTS_H

#include "known.h"

/* Takes out what hm_kept_take_out does, and counts it as freed. The caller holds the lock. */
struct hm_known *hm_allocate_take_out_kept(bool all);
/* Unmaps a chain by `next`. The caller does not hold the lock. */
void hm_allocate_discard(struct hm_known *chain);

#endif
