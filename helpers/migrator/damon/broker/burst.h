/* SPDX-License-Identifier: Apache-2.0 */
/* A lease's bursts of looks (probing.h): turns its kdamond on and off, and sends what the looks have found. */
#ifndef HM_MIGRATOR_DAMON_BROKER_BURST_H
#define HM_MIGRATOR_DAMON_BROKER_BURST_H

#include "lease.h"

/* Begins anew with the processes that the lease watches now. */
void hm_damon_burst_prepare(struct hm_damon_broker *broker, struct hm_damon_lease *lease);
/*
 * Begins a burst if it is due, or ends the one that runs if all of its lists have come, and sends what they say.
 * Returns 0, or -1 with a text: the kernel did not start the kdamond, or it cannot be followed.
 */
int hm_damon_burst_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error);
/* Do the looks find so few uses that looks all the time (steady.h) would do as well? False while a burst runs. */
bool hm_damon_burst_is_calm(const struct hm_damon_lease *lease);
/* Time until the next burst begins or ends, in ms. */
int hm_damon_burst_wait_ms(const struct hm_damon_lease *lease);

#endif
