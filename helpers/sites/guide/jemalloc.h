/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc, as it is a part of this library: the functions that are used have names of their own (jemalloc.names), and
 * of what it calls, those that could reach the program's own settings are replaced. It begins at the first call, not as
 * the library is loaded.
 */
#ifndef HM_SITES_GUIDE_JEMALLOC_H
#define HM_SITES_GUIDE_JEMALLOC_H

#include <stddef.h>

void *hm_jemalloc_malloc(size_t bytes);
void *hm_jemalloc_mallocx(size_t bytes, int flags);
void hm_jemalloc_free(void *memory);
void hm_jemalloc_dallocx(void *memory, int flags);
size_t hm_jemalloc_usable_size(void *memory);
int hm_jemalloc_mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);

/* What it wants to be called around fork: the three functions that it has registered, or NULL before it has begun. */
struct hm_jemalloc_fork {
    void (*before)(void), (*after)(void), (*in_child)(void);
};
extern struct hm_jemalloc_fork hm_jemalloc_fork;

#endif
