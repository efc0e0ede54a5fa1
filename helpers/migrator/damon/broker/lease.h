/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's side of one client: who it is, what it wants watched, and the kdamond that is lent to it. */
#ifndef HM_MIGRATOR_DAMON_BROKER_LEASE_H
#define HM_MIGRATOR_DAMON_BROKER_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "migrator/damon/pool.h"
#include "migrator/damon/wire.h"
#include "ring.h"
#include "sysfs.h"

/* What all clients share. */
struct hm_damon_broker {
    char state_path[300];
    unsigned n_wanted; /* kdamonds to make */
    struct hm_damon_owned owned;
    struct hm_damon_pool pool;
    struct hm_damon_layout layout; /* id 0: not known, with `problem` */
    struct hm_error problem;       /* why DAMON cannot be used at all, "" none */
    uint64_t change_ns;            /* CLOCK_MONOTONIC: no change of settings before, for any client */
};

struct hm_damon_lease {
    uint32_t client; /* its number, from 1 */
    int fd;          /* socket; -1: the slot is free */
    uid_t uid;
    pid_t pid;                   /* of the client */
    uint64_t since_ns, asked_ns; /* CLOCK_MONOTONIC: when it came, and of its last message; 0: none yet */
    uint64_t served_ns;          /* what that message has taken */
    int kdamond;                 /* index, -1: none */
    pid_t thread;                /* of the kdamond, 0: it does not run */
    struct hm_damon_ring ring;
    uint32_t generation;
    uint32_t n; /* processes that are watched */
    struct hm_damon_process target[HM_DAMON_TARGETS];
    int pidfd[HM_DAMON_TARGETS];
    uint32_t index[HM_DAMON_TARGETS]; /* in the client's list */
    struct hm_damon_needs needs;
    struct hm_damon_settings settings;
    uint64_t set_ns, set_cpu_ns; /* when the settings were made, and the CPU time for this client then */
    uint64_t thread_cpu_ns;      /* of the thread, as seen last */
    uint64_t past_cpu_ns;        /* of threads that ran for it before */
    uint64_t broker_cpu_ns;      /* of the broker itself, for it */
    uint64_t n_lists;            /* since set_ns */
    double accessed_bytes, touched_bytes;
    bool is_tuned;
    uint32_t unsent; /* lists */
};

void hm_damon_lease_open(struct hm_damon_lease *lease, uint32_t client, int fd, uid_t uid, pid_t pid);
/* Take its one message that has arrived, and answer. Returns false where the client is gone or speaks nonsense. */
bool hm_damon_lease_serve(struct hm_damon_broker *broker, struct hm_damon_lease *lease);
/* Send the lists that are there, and settings by what they cost. */
void hm_damon_lease_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease);
/* When the next lists are due, in ms; -1: never. */
int hm_damon_lease_wait_ms(const struct hm_damon_lease *lease);
/* Everything back: kdamond off, descriptors closed, the slot free. */
void hm_damon_lease_close(struct hm_damon_broker *broker, struct hm_damon_lease *lease);

#endif
