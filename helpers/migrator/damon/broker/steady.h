/* SPDX-License-Identifier: Apache-2.0 */
/* A lease whose kdamond looks all the time, at regions that DAMON divides the memory into (tune.h). */
#ifndef HM_MIGRATOR_DAMON_BROKER_STEADY_H
#define HM_MIGRATOR_DAMON_BROKER_STEADY_H

#include "lease.h"

/* Starts the kdamond on the lease's processes. `is_new`: nothing that was measured before holds. Returns 0, or -1 with
 * a text. */
int hm_damon_steady_begin(struct hm_damon_broker *broker, struct hm_damon_lease *lease, bool is_new,
                          struct hm_error *error);
/* Sends the lists that have come in, and adapts the settings to their cost. Returns 0, or -1 with a text if a process
 * ended meanwhile (ESRCH). */
int hm_damon_steady_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error);
/* Do the looks tell little, as they find nearly all of the memory in use, and would bursts of looks (burst.h) do
 * better? */
bool hm_damon_steady_is_blind(const struct hm_damon_lease *lease);
/* Longest time until the next lists are due, in ms: one aggregation; -1: none will come. */
int hm_damon_steady_wait_ms(const struct hm_damon_lease *lease);

#endif
