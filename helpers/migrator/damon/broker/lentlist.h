/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads whose event was lent. None is lent twice: its user can read the first one into memory of a FUSE of
 * theirs, for which the kernel holds the lock of the thread's events, and opening another would wait for that lock, in
 * a way that no signal ends. So the broker also stays as long as one of these threads runs.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_LENTLIST_H
#define HM_MIGRATOR_DAMON_BROKER_LENTLIST_H

#include "lease.h"

/* May an event of the thread be lent to this user? Returns 0, or an errno: EALREADY: it was; EBUSY: no more threads of
 * the user, or of all, are remembered. */
int hm_damon_lentlist_check(struct hm_damon_broker *broker, const struct hm_process *thread, uid_t owner);
/* Remembers the thread, which hm_damon_lentlist_check has allowed. */
void hm_damon_lentlist_add(struct hm_damon_broker *broker, const struct hm_process *thread, uid_t owner);
/* Does one of them run? */
bool hm_damon_lentlist_runs(struct hm_damon_broker *broker);

#endif
