/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated node around the migrator's real code, for tests/bench/day. System calls are replaced at link time, so
 * that time is simulated, memory has two tiers, and samples come without hardware. The processes of the job are real,
 * and so are their mappings, threads and ends.
 */
#ifndef DAYSIM_H
#define DAYSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dayorder.h"
#include "migrator/damon/wire.h"

#define DAY_SECOND UINT64_C(1000000000)
#define DAY_CGROUP "/sys/fs/cgroup/day" /* cgroup of the step, below day_root() */
#define DAY_NODES 4                     /* 0 and 1 are fast */
#define DAY_CPUS 8                      /* of the step, if nothing else is set */
#define DAY_RANKS 24
#define DAY_SLOTS 6
#define DAY_SLOT_PAGES 16384               /* most pages of a slot */
#define DAY_SLOT_SPAN (UINT64_C(1) << 20)  /* pages from one slot to the next */
#define DAY_FIRST_PAGE (UINT64_C(2) << 32) /* first page of slot 0 in every process */
#define DAY_FRAGMENT 64                    /* pages of a piece, and of the gap after it */
#define DAY_HOT_SHARE 8                    /* an eighth of a slot is hot */

enum day_kind { DAY_PLAIN, DAY_HUGE, DAY_SHARED, DAY_PIECES };

/* A mapping of a process. It comes and goes, and its hot part moves. */
struct day_slot {
    uint64_t n_pages; /* 0: not mapped */
    enum day_kind kind;
    uint64_t hot;                 /* first hot page, relative to the slot */
    uint8_t node[DAY_SLOT_PAGES]; /* node of each page */
};

struct day_rank {
    pid_t pid; /* 0: no process */
    int socket;
    unsigned n_threads; /* besides the first */
    pid_t thread[DAY_THREADS];
    struct day_slot slot[DAY_SLOTS];
};

extern struct day_rank day_rank[DAY_RANKS];

/* Print what is wrong, and end. */
void day_die(const char *what) __attribute__((noreturn));

/* ---- daykernel.c: time and files */

extern unsigned day_cpus; /* of the step; to be set before day_kernel_start() */

/* Make the simulated files in the folder `root`, where "/sys/..." and "/proc/sys/..." are looked for. */
void day_kernel_start(const char *root);
/* The folder `root`. */
const char *day_root(void);
uint64_t day_now_ns(void);
/* Let time pass. */
void day_pass(uint64_t ns);
/* Let time pass that is also CPU time of the caller. */
void day_work(uint64_t ns);
/* Write a file below the root. */
void day_write(const char *path, const char *text);
/* Memory has changed: the files that show it are out of date. */
void day_kernel_change(void);
/* Update the files that change with time and memory, if they are out of date. */
void day_kernel_refresh(void);
/* The process whose page map the descriptor is; 0: it is something else. */
pid_t day_kernel_pagemap(int fd);
/* Add a process to the step's cgroup. */
void day_cgroup_add(pid_t pid);
/* Remove a process that has ended. */
void day_cgroup_remove(pid_t pid);
/* The step has ended: its cgroup says that it is empty. */
void day_cgroup_end(void);

/* ---- daypages.c: memory */

extern uint64_t day_node_pages[DAY_NODES];
/* Does one page in so many not move, except in DAY_HUGE? 0: all move. */
extern uint64_t day_pinned;
/* CPU times, in ns: to see where a page is, to move it, and to read a part of a page map. */
struct day_page_costs {
    uint64_t look_ns, move_ns, read_ns;
};
extern struct day_page_costs day_page_costs;
uint64_t day_pages_used(int node);
/* Map the pages of a slot on nodes with room, fast ones first. A part of each fast node is kept for slots with
 * `only_fast`. */
void day_pages_map(struct day_slot *slot, uint64_t n_pages, enum day_kind kind, bool only_fast);
/* Unmap the pages of a slot. */
void day_pages_unmap(struct day_slot *slot);
/* How many pages the slots of a rank have in memory. */
uint64_t day_pages_resident(const struct day_rank *rank);
/* Is this page of the slot there? */
bool day_pages_has(const struct day_slot *slot, uint64_t page);
/* Simulates PAGEMAP_SCAN for present pages. Returns the number of regions. */
struct hm_present_scan;
int day_pages_scan(pid_t pid, struct hm_present_scan *scan);

/* ---- dayperf.c: perf events */

/* Refuse to open hardware events from now on, or not. */
void day_perf_refuse(bool refuses);
/* A second has passed: add samples of `count` accesses by each rank, at the usual period. Events of a whole cgroup get
 * only one thread's share of them. With `is_throttled` the kernel says that it has cut the rate of the samples. */
void day_perf_sample(unsigned count, bool is_throttled);
/* The migrator has read all that was readable: no event is readable any more. */
void day_perf_settle(void);
/* A thread has ended: its events hang up. */
void day_perf_end_thread(pid_t thread);
/* A descriptor is about to be closed: end its event, if it has one. */
void day_perf_close(int fd);

/* ---- daysocket.c: the socket of DAMON's broker, with its only client */

struct day_broker {
    struct hm_damon_watch watch; /* what the client asked for last */
    uint64_t cpu_ns;             /* CPU time that it was told, since it came */
    uint32_t lost, rounds;       /* messages that it did not get, and rounds, since it came */
};
extern struct day_broker day_broker;
void day_broker_start(void);
/* End the client's connection, as if the broker had died and another one had started. */
void day_broker_drop(void);
/* End the broker for good. */
void day_broker_end(void);
bool day_broker_has_client(void);
/* Handle the messages that have arrived: each is put into day_broker.watch for day_broker_take(). */
void day_broker_serve(void);
void day_broker_send(const void *message, size_t size);
/* Answer the last message. */
void day_broker_answer(uint32_t number, const char *text);

/* ---- daybroker.c: the broker of DAMON, or daybursts.c: the same one, which looks in bursts */

/* Answer a message. */
void day_broker_take(void);

/* ---- daybroker.c alone */

/* End an aggregation of DAMON. */
void day_broker_aggregate(void);

/* ---- daybursts.c alone */

/* CPU time in ns: of a burst, of each visit to set it up, and of each of its looks. Looking at a page twice, before and
 * after the wait, takes `pass_ns`. */
struct day_visit_costs {
    uint64_t burst_ns, set_up_ns, look_ns, pass_ns;
};
extern struct day_visit_costs day_visit_costs;
/* The share of time that each process runs; 1: it has a CPU for itself. */
extern double day_share;
/* How often per second the TLB loses a translation, where processes have CPUs for themselves. While it has one, no use
 * of the page is seen. */
extern double day_evictions;
/* How often per second the page at this address of a rank is used. */
double day_rate(const struct day_rank *rank, uint64_t page);
/* Do what is due. Returns when there is something to do again (CLOCK_MONOTONIC, in ns). */
uint64_t day_bursts_work(void);

/* ---- dayranks.c: the job's processes */

/* The program of the processes that are started from now on (dayrank.c). */
void day_ranks_begin(char *rank_program);
/* The rank that has this process; NULL: there is none. */
const struct day_rank *day_rank_find(pid_t pid);
void day_rank_start(struct day_rank *rank);
void day_rank_end(struct day_rank *rank);
/* Map so many pages in a slot, or unmap it. */
void day_rank_map(struct day_rank *rank, struct day_slot *slot, uint64_t n_pages, bool only_fast);
void day_rank_unmap(struct day_rank *rank, struct day_slot *slot);
void day_rank_add_thread(struct day_rank *rank);
void day_rank_drop_thread(struct day_rank *rank);
/* Address of a slot in its process. */
uint64_t day_slot_address(const struct day_rank *rank, const struct day_slot *slot);
/* Choose another hot part. */
void day_slot_jump(struct day_slot *slot);
/* Counts of what has happened so far. */
struct day_counts {
    uint64_t ranks, threads, mapped, unmapped, jumps;
};
const struct day_counts *day_job_counts(void);
/* A random number x with 0 <= x < below. */
uint64_t day_random(uint64_t below);
void day_random_start(uint64_t seed);

/* ---- dayjob.c: the job */

/* Start the job; `rank_program` is the program of its processes (dayrank.c). */
void day_job_start(char *rank_program);
void day_job_end(void);
/* Do what the job does in this phase of its hour. */
void day_job_phase(unsigned phase);
/* The phases of an hour at which the migrator has to change what it does. */
#define DAY_HOUR 360        /* phases of 10 s */
#define DAY_DAMON_FROM 140  /* hardware events are refused */
#define DAY_FAULTS_FROM 230 /* the broker drops the migrator */
#define DAY_REST_FROM 300   /* the job has little memory; hardware events can be opened again */
#define DAY_WORK_FROM 330   /* the job has a lot of memory again */
/* An address that the rank accesses now; 0: it has drawn a place without memory. */
uint64_t day_address(const struct day_rank *rank, bool *is_write);

#endif
