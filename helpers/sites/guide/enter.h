/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares this process for the start of a guided program, which has its environment and memory policy from it. */
#ifndef HM_SITES_GUIDE_ENTER_H
#define HM_SITES_GUIDE_ENTER_H

#include "base/error.h"
#include "table.h"

/*
 * Puts the table into the environment, and the library before others that are preloaded. New memory then comes from the
 * layout's slow nodes in turn; where they are full, the kernel takes the nearest others. Returns 0, or -1 with a text.
 */
int hm_guide_enter(const struct hm_guide_table *table, const struct hm_layout *layout, struct hm_error *error);

/* New memory of this process, and of programs that it starts, comes from the nodes of one of the tiers in turn. Where
 * they are full, the kernel takes the nearest others. Returns 0, or -1 with a text. */
int hm_guide_set_policy(const struct hm_layout *layout, bool is_fast, struct hm_error *error);

#endif
