/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lends events of the CPU's clock (migrator/perf/attr.h) to clients whose user may open none, as
 * kernel.perf_event_paranoid is above 2. A client gets them for threads of its own step that are its user's alone: what
 * the kernel lets that user sample where the setting is 2. From then on the kernel itself ends an event whose thread
 * executes a set-user-ID program.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_LEND_H
#define HM_MIGRATOR_DAMON_BROKER_LEND_H

#include "lease.h"

/*
 * May this client have an event of the thread? Returns 0, or an errno: ESRCH: it has ended, or its number belongs to
 * another one now; EACCES: it is not of the client's step; EPERM: it is another user's, has capabilities or another
 * group, or is not dumpable, as that of a set-user-ID program.
 */
int hm_damon_lend_judge(const struct hm_damon_peer *peer, const struct hm_damon_thread *thread);
/*
 * Handles a client's message that asks for events; it was checked. Returns false if the answer cannot be sent, or the
 * client has not read what it was sent before: descriptors that nobody takes would fill the kernel's queues.
 */
bool hm_damon_lend(struct hm_damon_broker *broker, struct hm_damon_lease *lease, const struct hm_damon_borrow *wanted);

#endif
