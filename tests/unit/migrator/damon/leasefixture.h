/* SPDX-License-Identifier: Apache-2.0 */
/* A DAMON broker with one client, on a simulated kernel. */
#ifndef HM_LEASEFIXTURE_H
#define HM_LEASEFIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "leasekernel.h"
#include "migrator/damon/broker/lease.h"

extern struct hm_damon_broker broker;
extern struct hm_damon_lease lease;
extern int lease_client;      /* the client's end of the socket */
extern uint32_t lease_looker; /* what the client wants to look; a kdamond, unless a test changes it */

int lease_set_up(void **state);
int lease_tear_down(void **state);
/* Has a client of this number and process connect: it has the lease from now on. */
void lease_connect(uint32_t client, const struct hm_damon_peer *peer);
/* Begins a broker that knows nothing of an earlier one. */
void lease_begin_broker(void);
/* Asks for a kdamond before any process is known. */
struct hm_damon_answer lease_ask(void);
/* Asks to watch these processes, with two ranges of one page each. */
struct hm_damon_answer lease_watch(const pid_t *pid, uint32_t n);
struct hm_damon_answer lease_watch_ranges(const pid_t *pid, uint32_t n, uint32_t n_ranges);
/* The next message that the client has; its kind is 0 if there is none. */
union hm_damon_message *lease_hear(void);
/* Drops all messages that the client has. */
void lease_hear_all(void);
/* Has the broker work after this time. Returns whether it ended the watch. */
bool lease_work_after(uint64_t ns);
/* Has looks all the time find all memory in use, so that bursts take their place. The first one is due then. */
void lease_begin_bursts(void);

#endif
