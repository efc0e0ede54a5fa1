/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's privilege: user root, for DAMON's files, and as few capabilities as it can do with. */
#ifndef HM_MIGRATOR_DAMON_BROKER_CAPS_H
#define HM_MIGRATOR_DAMON_BROKER_CAPS_H

#include "base/error.h"

/*
 * Keep CAP_PERFMON (a kernel thread's tracepoint) and CAP_IPC_LOCK (ring buffers). Where perf_event_paranoid is above 2
 * (Debian's and Ubuntu's kernels: perf wants CAP_SYS_ADMIN then) that one is kept too, to be used only between
 * hm_damon_caps_raise() and hm_damon_caps_lower(); where /proc hides other users' processes (hidepid=) CAP_SYS_PTRACE,
 * without which their owners cannot be looked up. All others are gone for good. Returns 0, or -1.
 */
int hm_damon_caps_drop(struct hm_error *error);
/* For opening a perf event. */
void hm_damon_caps_raise(void);
void hm_damon_caps_lower(void);

#endif
