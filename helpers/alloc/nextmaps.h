/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next functions of mappings, and dlclose, behind a preload library that replaces them, as next.h has those of
 * malloc. Inside their look-up, and where there are none, the kernel is called.
 */
#ifndef HM_ALLOC_NEXTMAPS_H
#define HM_ALLOC_NEXTMAPS_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

#ifndef MREMAP_DONTUNMAP /* in headers since glibc 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

/* Flags with which mremap has a fifth argument. */
#define HM_NEXT_WANTED (MREMAP_FIXED | MREMAP_DONTUNMAP)

void *hm_next_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int hm_next_munmap(void *address, size_t bytes);
void *hm_next_mremap(void *address, size_t bytes, size_t new_bytes, int flags, void *wanted);
int hm_next_dlclose(void *handle); /* -1 where there is none */

#endif
