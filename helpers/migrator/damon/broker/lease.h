/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's side of one client: its identity, the processes that it wants watched, and the kdamond lent to it. */
#ifndef HM_MIGRATOR_DAMON_BROKER_LEASE_H
#define HM_MIGRATOR_DAMON_BROKER_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process.h"
#include "debts.h"
#include "idlebitmap.h"
#include "migrator/damon/pool.h"
#include "migrator/damon/probing.h"
#include "migrator/damon/tune.h"
#include "migrator/damon/wire.h"
#include "peer.h"
#include "slots.h"
#include "sysfs.h"
#include "tracepoint.h"

#define HM_DAMON_CLIENTS 64        /* most at a time */
#define HM_DAMON_LENT_THREADS 8192 /* threads whose event was lent (lentlist.h) */
#define HM_DAMON_UNREAD 128        /* connections with events that nobody has taken (unread.h) */

/* What the broker has for all its clients. */
struct hm_damon_broker {
    char state_path[300];
    unsigned n_wanted; /* number of kdamonds to make */
    struct hm_damon_owned owned;
    struct hm_damon_pool pool;
    struct hm_damon_slots slots[HM_DAMON_KDAMONDS];
    struct hm_damon_debts debts;
    struct hm_damon_layout layout; /* id 0: not known; `problem` says why */
    struct hm_error problem;       /* why DAMON cannot be used at all; "": it can */
    struct hm_idle_bitmap idle;
    struct hm_error no_idle; /* why the idle bitmap cannot be used; "": it can */
    bool lends;              /* events of the CPU's clock (lend.h) */
    struct {
        struct hm_process thread; /* pid 0: free */
        uid_t owner;
    } lent[HM_DAMON_LENT_THREADS];
    uint64_t sweep_ns; /* CLOCK_MONOTONIC before which those that have ended are not looked for again */
    struct {
        bool is_used;
        int fd;
        uid_t owner;
    } unread[HM_DAMON_UNREAD];
    uint64_t change_ns; /* CLOCK_MONOTONIC before which no settings are changed, for any client */
};

struct hm_damon_lease {
    uint32_t client; /* number of the client, from 1 */
    int fd;          /* socket; -1: the slot is free */
    struct hm_damon_peer peer;
    uint64_t since_ns;  /* CLOCK_MONOTONIC when it connected */
    uint64_t asked_ns;  /* CLOCK_MONOTONIC of its last message; 0: none yet */
    uint64_t served_ns; /* how long the work for that message took */
    bool is_lent;       /* events were sent to it */
    int kdamond;        /* index of the lent kdamond; -1: none */
    pid_t thread;       /* number of the kdamond's thread; 0: it does not run */
    uint64_t off_ns;    /* it could not be turned off: CLOCK_MONOTONIC before which this is not tried again */
    struct hm_damon_tracepoint tracepoint;
    uint32_t generation; /* number of the client's list of processes (wire.h) */
    uint32_t n;          /* number of watched processes */
    struct hm_damon_process target[HM_DAMON_TARGETS];
    int pidfd[HM_DAMON_TARGETS];
    bool is_lost; /* a target is not the client's any more: no list of regions is sent, and the watch ends soon */
    uint32_t index[HM_DAMON_TARGETS]; /* index of each target in the client's list of processes */
    uint32_t wanted_budget;           /* as the client asked; needs.budget is what it may have (pool.h) */
    struct hm_damon_needs needs;
    bool by_bitmap;         /* the broker looks with the idle bitmap, and `kdamond` is a mere number */
    bool is_bursting;       /* DAMON looks in bursts (burst.h); else all the time (steady.h) */
    uint64_t thread_cpu_ns; /* CPU time of the present thread, as last read */
    uint64_t past_cpu_ns;   /* CPU time of earlier threads for this client */
    uint64_t broker_cpu_ns; /* CPU time of the broker itself for this client */
    struct {
        struct hm_damon_settings settings;
        uint64_t set_ns, set_cpu_ns; /* when the present measurement of the cost began, and the CPU time then */
        uint64_t n_lists; /* lists of regions, one per process and aggregation, that the kernel told since set_ns */
        /*
         * Sums over the lists since set_ns. bytes: of all regions; touched_bytes: the bytes of regions with an access;
         * accessed_bytes: the same, each region weighted by its share of looks that found an access.
         */
        double bytes, accessed_bytes, touched_bytes;
        bool is_tuned; /* the first settings were compared with their cost */
        /* most looks found most of the memory in use, and the budget allows no shorter time between them */
        bool is_blind;
    } steady;
    struct {
        struct hm_damon_probing probing;
        struct hm_damon_burst pages; /* of the last burst, or of the one that runs */
        struct hm_damon_seen found[HM_DAMON_MOST_PROBES];
        uint32_t n_targets, n_lists;        /* its processes, and those whose list has come */
        bool has_come[HM_DAMON_TARGETS];    /* which these are, in the order of the burst */
        uint64_t on_ns, told_ns;            /* when DAMON was on, when the last list came */
        double process_s[HM_DAMON_TARGETS]; /* CPU time of the processes, as last looked at; 0: not known */
        uint64_t looked_ns;                 /* when that was */
        uint64_t blocked_ns;                /* how long it took to turn DAMON on, and to try to turn it off */
        uint64_t said_ns;                   /* when the client was told something, or that there is nothing to tell */
        unsigned n_refused;                 /* bursts in a row that the kernel did not begin */
        double owed_s;                      /* CPU time of an advance on the budget that is not paid back */
        uint64_t paid_ns;                   /* the budget of the time until then is spent */
        uint64_t next_ns;                   /* before this no burst begins */
        uint64_t settled_ns;                /* CPU time that earlier bursts have paid for */
        unsigned calm;                      /* rounds in a row in which most blocks were used seldom */
    } bursts;
    struct { /* the burst that runs with the idle bitmap (idlelooks.h) */
        bool is_on;
        unsigned n_looks;
        uint64_t due_ns; /* CLOCK_MONOTONIC of the next look */
        uint64_t frame[HM_DAMON_MOST_PROBES];
    } idle;
    uint32_t rounds; /* rounds that have ended, for the client */
    uint32_t unsent; /* lists that could not be sent, and what earlier tracepoints have lost */
};

/* CPU time in ns that kdamonds have used for this client, as last read. */
static inline uint64_t hm_damon_lease_cpu_ns(const struct hm_damon_lease *lease)
{
    return lease->past_cpu_ns + lease->thread_cpu_ns;
}

/* Fills a free slot for a client that has connected. `fd` and the peer's pidfd are the lease's from now on. */
void hm_damon_lease_open(struct hm_damon_lease *lease, uint32_t client, int fd, const struct hm_damon_peer *peer);
/*
 * Handles one message of the client, which must have arrived, and answers. Returns false if the client is gone, its
 * message is not valid, or the answer cannot be sent.
 */
bool hm_damon_lease_serve(struct hm_damon_broker *broker, struct hm_damon_lease *lease);
/*
 * Sends what DAMON has found, and adapts how it looks. Ends the watch, and tells the client, if a process is not the
 * client's any more. Takes the kdamond back if no process is watched and the client has sent nothing for a minute; the
 * client's next message asks for one again. Returns whether a watch was ended.
 */
bool hm_damon_lease_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease);
/* Longest time until there is work to do, in ms; -1: there will be none. */
int hm_damon_lease_wait_ms(const struct hm_damon_lease *lease);
/* Turns the kdamond off and takes it back, closes all descriptors, and frees the slot. */
void hm_damon_lease_close(struct hm_damon_broker *broker, struct hm_damon_lease *lease);

#endif
