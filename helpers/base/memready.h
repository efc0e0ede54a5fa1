/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes memory ready before a lock is taken that all of a node's jobs wait for. slurmstepd belongs to the job's memory
 * cgroup. Where a user has filled that with files in /dev/shm, and no process is left to kill, the kernel lets a page
 * fault of slurmstepd wait until one of the files is removed: that must not happen while the lock is held.
 */
#ifndef HM_BASE_MEMREADY_H
#define HM_BASE_MEMREADY_H

#include <stddef.h>

/* Make 576 KiB of heap and 64 KiB of stack ready: until hm_memready_end, what this thread allocates and calls needs no
 * new page. Where memory is short, less is ready. */
void hm_memready_begin(void);

/* Give the kernel back what was made ready and is free. */
void hm_memready_end(void);

/* Make memory ready that was allocated before, and may not have been written to. Its content stays. */
void hm_memready_touch(void *memory, size_t bytes);

#endif
