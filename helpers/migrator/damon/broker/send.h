/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker sends to a client: answers, and lists of regions. Nothing waits: a full socket loses the message. */
#ifndef HM_MIGRATOR_DAMON_BROKER_SEND_H
#define HM_MIGRATOR_DAMON_BROKER_SEND_H

#include "lease.h"

/* Sends an answer to a client: an errno and its text, or 0 and "". `generation` is the number of the client's list of
 * processes (wire.h), `n` that of the watched processes. Returns false if the answer could not be sent. */
bool hm_damon_answer_send(int fd, uint32_t generation, uint32_t n, int number, const char *text);
/* Sends an answer to the client of a lease. Returns as above. */
bool hm_damon_lease_answer(const struct hm_damon_lease *lease, int number, const char *text);

/* What all regions of a list have in common (wire.h). */
struct hm_damon_looked {
    enum hm_damon_way way;
    uint32_t span_ms, scatter;
};

/*
 * Is the process (its index in the lease) still the client's? A watch goes on when the process executes another
 * program. What a setuid program accesses is not for the client to see. So this is asked whenever something is read or
 * sent that was found in the process. Where it has become another user's program, lease->is_lost is set, and nothing
 * more may be sent.
 */
bool hm_damon_lease_owns(struct hm_damon_lease *lease, uint32_t process);
/* Sends regions of one process to the lease's client, as one or more messages. The caller has asked whose it is. Where
 * there are none, the client learns how many rounds have ended. */
void hm_damon_lease_send(struct hm_damon_lease *lease, uint32_t process, const struct hm_damon_looked *looked,
                         const struct hm_damon_region *region, uint32_t n_regions);

#endif
