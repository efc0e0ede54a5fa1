/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of open files: each process of a step takes one descriptor, and with perf events each thread one or two.
 * The last ones stay free for what is opened for a moment, such as /proc/PID/status right before pages are moved.
 */
#ifndef HM_MIGRATOR_WATCH_DESCRIPTORS_H
#define HM_MIGRATOR_WATCH_DESCRIPTORS_H

#include <stdbool.h>

#define HM_DESCRIPTORS_FREE 64 /* that stay free; with a limit below twice that, half of it */

/* Raises the soft limit, which is often 1024, to the hard one. */
void hm_descriptors_raise_limit(void);
/* May this one be kept? Returns true, or false with errno EMFILE: it is one of those that are to stay free. */
bool hm_descriptors_may_keep(int fd);

#endif
