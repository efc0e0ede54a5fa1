/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's meminfo files: of the machine (/proc/meminfo), and of its nodes. */
#ifndef HM_BASE_MEMINFO_H
#define HM_BASE_MEMINFO_H

#include <stdint.h>

/*
 * The bytes behind a key ("MemFree") in the text of such a file, whose lines are "KEY: N kB", with "Node N " before it
 * in those of nodes. Returns 0, or -1 (EBADMSG: no such key, or no number of kB that fits); `bytes` is then undefined.
 * Pure; never allocates.
 */
int hm_meminfo_parse(const char *text, const char *key, uint64_t *bytes);

#endif
