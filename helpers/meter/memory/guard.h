/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: the cgroup.events file of a cgroup that lives as long as the job does. It tells the monitor to end,
 * whatever became of those who should have stopped it.
 */
#ifndef HM_METER_MEMORY_GUARD_H
#define HM_METER_MEMORY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* A cgroup without processes counts as ended only once it had some: the monitor may start before the job's first
 * process is placed. */
#define HM_GUARD_GRACE_NS UINT64_C(30000000000)

struct hm_guard {
    const char *path;
    int fd;            /* poll it for POLLPRI; -1 while it is not there */
    uint64_t since_ns; /* CLOCK_MONOTONIC of the start */
    bool was_populated;
};

void hm_guard_init(struct hm_guard *guard, const char *path, uint64_t now_ns);

/* Has the job ended: no process left, or the file gone, or neither seen within the grace? */
bool hm_guard_is_over(struct hm_guard *guard, uint64_t now_ns);

/* The number after "populated" in the text of a cgroup.events file, or -1. Pure. */
int hm_guard_parse(const char *text);

#endif
