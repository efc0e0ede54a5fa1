/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the observations that wait to become cells (cells.h). For the decision code. */
#ifndef HM_MIGRATOR_DECIDE_PENDING_H
#define HM_MIGRATOR_DECIDE_PENDING_H

#include "decide.h"

/* Sorts `n` observations by their first page, and those of the same one by their number of pages; those that are alike
 * stay in the order in which they came. `spare` has room for as many. */
void hm_pending_sort(struct hm_observation *seen, struct hm_observation *spare, size_t n);

#endif
