/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's privilege: user root, for DAMON's files, and as few capabilities as it can do with. */
#ifndef HM_DAMONCAPS_H
#define HM_DAMONCAPS_H

#include "../core/error.h"

/*
 * Keep CAP_PERFMON (a kernel thread's tracepoint) and CAP_IPC_LOCK (ring buffers); where /proc hides other users'
 * processes (hidepid=) also CAP_SYS_PTRACE, without which their owners cannot be looked up. All others are gone for
 * good. Returns 0, or -1.
 */
int hm_damon_caps_drop(struct hm_error *error);

#endif
