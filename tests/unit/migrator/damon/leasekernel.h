/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated kernel for the DAMON broker: DAMON's files in sysfs, its tracepoint and the clocks. */
#ifndef HM_LEASEKERNEL_H
#define HM_LEASEKERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SECOND_NS UINT64_C(1000000000)
#define DAMON_FILES "/sys/kernel/mm/damon/admin/kdamonds/"
#define THREAD 4000001 /* kdamond 0's; the next one's is kdamond 1's */

/* The kernel as the broker sees it. */
extern struct kernel {
    bool is_busy;         /* another process reads or writes DAMON's files all the time */
    bool is_busy_from_on; /* the same from a kdamond's start on */
    bool refuses_on;      /* DAMON refuses to start a kdamond */
    bool refuses_perf;
    bool refuses_off;       /* another process has the kernel's lock whenever a kdamond is turned off */
    pid_t ends_at_start;    /* this process ends while a kdamond starts; 0: none */
    pid_t ends_at_commit;   /* this process ends while settings are changed; 0: none */
    unsigned starts;        /* how often a kdamond was started */
    uint64_t now_ns;        /* CLOCK_MONOTONIC */
    uint64_t on_ns, off_ns; /* how long it takes to turn a kdamond on, or off */
    uint64_t burst_cpu_ns;  /* CPU time of a kdamond's thread from its start on */
    unsigned commits;       /* how often settings were changed */
    uint64_t commit_ns;     /* how long that takes */
    uid_t owner;            /* of all files in /proc */
    uint32_t lists;         /* the kdamond's targets, as bits, whose lists the tracepoint has */
    uint32_t accesses;      /* of each region in these lists */
    uint64_t idle_pages;    /* beside that region, where DAMON looks all the time */
    uint64_t told_ns;       /* when it wrote them */
} kernel;

/* Sets the text of a file, of DAMON's or another one that the broker reads. */
void kernel_put(const char *path, const char *text);
/* The text of one of DAMON's files, below DAMON_FILES; "": there is none. */
const char *kernel_text(const char *name);
/* Sets the CPU time that the thread of kdamond k has used. */
void kernel_use_cpu(int k, uint64_t ns);
/* Makes all kdamonds anew, without a context. */
void kernel_set_number(const char *text);

#endif
