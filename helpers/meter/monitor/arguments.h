/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hybridmem-monitor. */
#ifndef HM_METER_MONITOR_ARGUMENTS_H
#define HM_METER_MONITOR_ARGUMENTS_H

#include <stdint.h>

#include "meter.h"

struct hm_monitor_arguments {
    const char *cgroup, *guard, *sysfs, *resctrl;
    const char *shares; /* the table of shares (core/share/shares.h); NULL: not given */
    uint64_t job_id;    /* the job's row there */
    struct hm_monitor_programs programs;
    uint64_t samples_fd, uid, gid; /* UINT64_MAX: not given */
};

/* Parse the command line, and check whether it fits the rights of this process. Returns 0, or the exit status after it
 * has printed on standard error what is wrong. */
int hm_monitor_arguments_take(int argc, char **argv, struct hm_monitor_arguments *given);

#endif
