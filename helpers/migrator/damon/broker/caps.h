/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's privileges: it stays user root, for DAMON's files, with few capabilities. */
#ifndef HM_MIGRATOR_DAMON_BROKER_CAPS_H
#define HM_MIGRATOR_DAMON_BROKER_CAPS_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Keeps CAP_PERFMON (for a kernel thread's tracepoint) and CAP_IPC_LOCK (for ring buffers), and in some cases more:
 *
 * - CAP_SYS_ADMIN where perf_event_paranoid is above 2 (as in Debian's and Ubuntu's kernels), as perf needs it there,
 *   or with `finds_frames`, as the kernel shows the frames of pages to no others.
 * - CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH with `finds_frames`, to open the page maps of users' processes, which only
 *   they may open else.
 * - CAP_SYS_PTRACE where /proc hides other users' processes (hidepid=), to look up whose they are.
 *
 * What the first two add is in effect only between hm_damon_caps_raise() and hm_damon_caps_lower(). All others are
 * dropped for good. Returns 0, or -1.
 */
int hm_damon_caps_drop(bool finds_frames, struct hm_error *error);
/* To be called just before a perf event or a page map is opened. */
void hm_damon_caps_raise(void);
/* To be called just after it was opened. Keeps errno. */
void hm_damon_caps_lower(void);

#endif
