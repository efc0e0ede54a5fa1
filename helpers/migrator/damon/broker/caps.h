/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's privileges: it stays user root, for DAMON's files, with few capabilities. */
#ifndef HM_MIGRATOR_DAMON_BROKER_CAPS_H
#define HM_MIGRATOR_DAMON_BROKER_CAPS_H

#include "base/error.h"

/*
 * Keeps CAP_PERFMON (for a kernel thread's tracepoint) and CAP_IPC_LOCK (for ring buffers), and in two cases one more:
 *
 * - CAP_SYS_ADMIN where perf_event_paranoid is above 2 (as in Debian's and Ubuntu's kernels), as perf needs it there.
 *   It is in effect only between hm_damon_caps_raise() and hm_damon_caps_lower().
 * - CAP_SYS_PTRACE where /proc hides other users' processes (hidepid=), to look up whose they are.
 *
 * All others are dropped for good. Returns 0, or -1.
 */
int hm_damon_caps_drop(struct hm_error *error);
/* To be called just before a perf event is opened: puts CAP_SYS_ADMIN into effect, where it was kept. */
void hm_damon_caps_raise(void);
/* To be called just after a perf event was opened: CAP_SYS_ADMIN has no effect any more. Keeps errno. */
void hm_damon_caps_lower(void);

#endif
