/* SPDX-License-Identifier: Apache-2.0 */
/* What realloc of a preload library does with large memory, for preload.c. Nothing here calls malloc; all keep errno.
 */
#ifndef HM_ALLOC_PRELOADRESIZE_H
#define HM_ALLOC_PRELOADRESIZE_H

#include "allocate.h"
#include "preload.h"

/* In what blocks so many bytes are placed. */
struct hm_alloc_hint hm_preload_hint(size_t bytes, const struct hm_preload_choice *choice);

/* Copy the content of an allocation that is freed then, of the next library's, too. Its pages are given back meanwhile,
 * so that both together need little more memory than one. Where the kernel does not take them (they are locked), they
 * stay until it is freed. */
void hm_preload_copy_out(char *to, char *from, size_t bytes);

/* Give large placed memory, of which `was` is known, another size without a copy, and count what it has of the fast
 * tier. Returns where it is now, or NULL: it is as it was. `how` is not HM_PRELOAD_MOVES. */
void *hm_preload_resize(void *memory, const struct hm_allocated *was, size_t bytes, enum hm_preload_how how,
                        struct hm_preload_where where);

#endif
