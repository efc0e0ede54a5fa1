/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a lease's kdamond: how much CPU time it uses, and the budget for that. */
#ifndef HM_MIGRATOR_DAMON_BROKER_THREAD_H
#define HM_MIGRATOR_DAMON_BROKER_THREAD_H

#include "lease.h"

/* The part of `wanted` millionths of a CPU that the client may use now. It falls as its user gets more kdamonds. */
uint32_t hm_damon_thread_budget(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease,
                                uint32_t wanted);
/* Reads the thread's CPU time. If the thread has ended, the value that was read last stays. */
void hm_damon_thread_look(struct hm_damon_lease *lease);
/* Until when (CLOCK_MONOTONIC) a client has to rest for whom the broker has just served nobody else for so long. */
uint64_t hm_damon_thread_rest(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease,
                              uint64_t blocked_ns);
/*
 * Checks, before it is turned on or changed, that the lease's kdamond is still ours. If it is not, none is: all slots
 * are closed, and the next client that asks has new kdamonds made, where nobody else has some. Returns 0, or -1 with
 * a text.
 */
int hm_damon_thread_check(struct hm_damon_broker *broker, const struct hm_damon_lease *lease, struct hm_error *error);
/*
 * Turns the thread off, if there is one, and closes its tracepoint; looks with the idle bitmap end, too. The kdamond's
 * targets stay. Returns 0, or -1 if others keep DAMON's files busy: then it is still there. The caller tries again, in
 * vain until lease->off_ns.
 */
int hm_damon_thread_end(const struct hm_damon_broker *broker, struct hm_damon_lease *lease);
/* Takes the targets of the lease's kdamond away, which is off. */
void hm_damon_thread_forget(struct hm_damon_broker *broker, const struct hm_damon_lease *lease);

#endif
