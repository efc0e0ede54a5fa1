/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that a process may run on. */
#ifndef HM_MIGRATOR_MOVE_CPUS_H
#define HM_MIGRATOR_MOVE_CPUS_H

#include <sys/types.h>

#include "base/set.h"

#define HM_CPUS_THREADS 256 /* of a process with more threads, only so many are asked */

/* Sets `cpus` to those of all threads of the process together; empty: it has ended. An OpenMP program may have bound
 * each thread by itself. */
void hm_cpus_of(pid_t pid, struct hm_set *cpus);

#endif
