/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a process is in memory. */
#ifndef HM_MIGRATOR_WATCH_RESIDENT_H
#define HM_MIGRATOR_WATCH_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

/* How many pages of the process are in memory, those of files too; 0 where it has ended or cannot be read. */
uint64_t hm_resident_pages(pid_t pid);

#endif
