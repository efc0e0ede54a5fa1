/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's clients: who may connect, whose turn it is, and when nobody needs the broker any more. A client's place
 * becomes free when its connection is closed, or the process that took the place ends. Where no place is free, the user
 * with the most loses one to a user who has at least two fewer. Root takes no place in this way.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_CLIENTS_H
#define HM_MIGRATOR_DAMON_BROKER_CLIENTS_H

#include "lease.h"
#include "pauses.h"

struct hm_damon_clients {
    struct hm_damon_broker *broker;
    const char *run_dir; /* the folder that has the node's ledger */
    int listener;        /* the socket for new clients */
    int signals;         /* signalfd(2) of the signals that end the broker */
    struct hm_damon_lease lease[HM_DAMON_CLIENTS];
    struct hm_damon_pauses pauses;
    uint32_t last_client; /* number of the newest client since the broker's start; the first one is 1 */
    uint64_t idle_ns;     /* how long the broker waits without clients before it ends */
    uint64_t accepts_ns;  /* CLOCK_MONOTONIC before which no new connections are accepted */
    uint64_t used_ns;     /* CLOCK_MONOTONIC when it last had a client */
};

/*
 * Sets `clients` up, without any client. The structure is too large for the stack, and must be filled with zeroes.
 * `broker` stays the caller's. The caller sets `run_dir`, `listener` and `signals` afterwards.
 */
void hm_damon_clients_init(struct hm_damon_clients *clients, struct hm_damon_broker *broker, uint64_t idle_s);
/* Serves clients until a signal ends the broker, poll(2) fails, or the broker had no client for `idle_s`, and no
 * thread whose event it has lent runs. */
void hm_damon_clients_serve(struct hm_damon_clients *clients);
/* Takes back what all clients were lent. */
void hm_damon_clients_close(struct hm_damon_clients *clients);

#endif
