/* SPDX-License-Identifier: Apache-2.0 */
/* Small texts of kernel files. */
#ifndef HM_BASE_PROCFILE_H
#define HM_BASE_PROCFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read a file's first size - 1 bytes at most into `out`, terminated. Returns 0, or -1 with errno. */
int hm_file_read_start(const char *path, char *out, size_t size);
/* The same for /proc/PID/NAME. */
int hm_procfile_read(pid_t pid, const char *name, char *out, size_t size);
/* Pages of the process that are in memory; 0 where it has ended. */
uint64_t hm_process_resident(pid_t pid);

#endif
