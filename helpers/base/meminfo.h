/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the kernel's meminfo files: that of the machine (/proc/meminfo) and those of its NUMA nodes. */
#ifndef HM_BASE_MEMINFO_H
#define HM_BASE_MEMINFO_H

#include <stdint.h>

/*
 * Find the value of a key ("MemFree") in the text of such a file, in bytes. Its lines are "KEY: N kB"; in the files of
 * nodes "Node N " comes before the key. Returns 0, or -1 (EBADMSG: there is no such key, or its value is not a number
 * of kB below 2^64 bytes); `bytes` is then undefined. Pure; never allocates.
 */
int hm_meminfo_parse(const char *text, const char *key, uint64_t *bytes);

#endif
