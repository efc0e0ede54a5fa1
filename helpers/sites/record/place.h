/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where new memory of a site goes, as the recorder has decided while the program runs (sites/online). Memory that is
 * too small, or that there are no mappings for, is where the process's policy has it. Calls no malloc.
 */
#ifndef HM_SITES_RECORD_PLACE_H
#define HM_SITES_RECORD_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

/* Places new pages of an allocation of this site. Files are read here the first time, where a thread can be cancelled.
 * Returns whether they have a policy of their own now; then one of the others has to follow. */
bool hm_place_begin(const struct hm_sites_table *table, uint32_t entry, const void *memory, size_t bytes);
/* The allocation ends, and its addresses may be used for another. */
void hm_place_end(const void *memory, size_t bytes);
/* Its addresses are gone. */
void hm_place_forget(void);

#endif
