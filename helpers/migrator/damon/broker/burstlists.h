/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a burst: what they say of its pages, and what the client is told. */
#ifndef HM_MIGRATOR_DAMON_BROKER_BURSTLISTS_H
#define HM_MIGRATOR_DAMON_BROKER_BURSTLISTS_H

#include "lease.h"

/*
 * Notes what a list says of the burst's pages; the first list of each target counts. The lists of others may come much
 * later, so the owner is asked for here, too. It is the sink of hm_damon_tracepoint_read; `data` is the lease.
 */
void hm_damon_burst_note(void *data, const struct hm_damon_gathering *list);
/* Sends what the burst has found, one process after the other. Returns whether there was something to send. */
bool hm_damon_burst_tell(struct hm_damon_lease *lease);

#endif
