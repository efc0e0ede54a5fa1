/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: a cgroup's file cgroup.events, which tells a program when to end, even where the process that should stop
 * the program has died. The monitor watches the file of the job's cgroup, a migrator the file of the cgroup that the
 * step's tasks are in. */
#ifndef HM_METER_MEMORY_GUARD_H
#define HM_METER_MEMORY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* How long the cgroup may be empty or missing at the start, in ns: the program may start before the first process of
 * the job or step is there. */
#define HM_GUARD_GRACE_NS UINT64_C(30000000000)

struct hm_guard {
    const char *path;
    int fd;            /* for poll with POLLPRI; -1 while the file is not there */
    uint64_t since_ns; /* start of the program, by CLOCK_MONOTONIC */
    bool was_populated;
};

/* Begin at `now_ns` (CLOCK_MONOTONIC), when the program starts. `path` must live as long as the guard. */
void hm_guard_init(struct hm_guard *guard, const char *path, uint64_t now_ns);

/* Has the job or step ended? Yes, if its cgroup was removed or has no process left, or if no process was in the cgroup
 * within HM_GUARD_GRACE_NS. */
bool hm_guard_is_over(struct hm_guard *guard, uint64_t now_ns);

/* The number after "populated" in the text of a cgroup.events file, or -1. Pure. */
int hm_guard_parse(const char *text);

#endif
