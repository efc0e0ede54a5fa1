/* SPDX-License-Identifier: Apache-2.0 */
/* A burst of looks with the idle bitmap: what a kdamond does for others (slots.h), the broker does here by itself. */
#ifndef HM_MIGRATOR_DAMON_BROKER_IDLELOOKS_H
#define HM_MIGRATOR_DAMON_BROKER_IDLELOOKS_H

#include "lease.h"

/*
 * Begins to look at the pages of lease->bursts.pages, whose processes must live. Returns 0, or -1 with a text: the page
 * map of a process cannot be read.
 */
int hm_damon_idle_begin(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error);
/*
 * Looks once more if it is time to, or, where the time between two looks is short, to the end of the burst. After the
 * last look, lease->bursts.found has what was found, as if the lists of all processes had come.
 */
void hm_damon_idle_work(const struct hm_damon_broker *broker, struct hm_damon_lease *lease);

#endif
