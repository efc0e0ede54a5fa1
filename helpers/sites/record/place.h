/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where new memory of a site goes, as the recorder has decided while the program runs (sites/online). What goes to the
 * fast tier is taken of what is left of it; where that is too little, the memory goes to the slow one. Memory that is
 * too small, or that there are no mappings for, is where the process's policy has it. Calls no malloc.
 */
#ifndef HM_SITES_RECORD_PLACE_H
#define HM_SITES_RECORD_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

struct hm_place_taken {
    bool has_policy; /* its pages have a policy of their own */
    bool is_fast;    /* its bytes were taken of what is left of the fast tier */
};

/* Places new pages of an allocation of this site. Files are read here the first time, where a thread can be cancelled.
 * One of the others has to follow, with what this returns. */
struct hm_place_taken hm_place_begin(struct hm_sites_table *table, uint32_t entry, const void *memory, size_t bytes);
/* The allocation ends, and its addresses may be used for another. */
void hm_place_end(struct hm_sites_table *table, struct hm_place_taken place, const void *memory, size_t bytes);
/* Its addresses are gone. */
void hm_place_forget(struct hm_sites_table *table, struct hm_place_taken place, size_t bytes);

#endif
