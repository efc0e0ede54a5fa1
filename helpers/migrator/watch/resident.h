/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a process is in memory, and how much it has mapped. */
#ifndef HM_MIGRATOR_WATCH_RESIDENT_H
#define HM_MIGRATOR_WATCH_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How many pages of the process are in memory, those of files too; 0 where it has ended or cannot be read. */
uint64_t hm_resident_pages(pid_t pid);

/* Pages of all mappings of a process, and of those with data and stacks. They are as before where it has mapped and
 * unmapped nothing since, or as much of each. */
struct hm_mapped_size {
    uint64_t all, data;
};

/* Zeros where the process has ended or cannot be read. */
struct hm_mapped_size hm_mapped_size(pid_t pid);

#endif
