/* SPDX-License-Identifier: Apache-2.0 */
/* Makes placed allocations larger and smaller, for realloc. No malloc is called here. */
#ifndef HM_ALLOC_RESIZE_H
#define HM_ALLOC_RESIZE_H

#include <stddef.h>

#include "place.h"

struct hm_resize {
    enum hm_alloc_policy policy; /* of what is added, or of all */
    struct hm_alloc_hint hint;
    const struct hm_place_slices *slices; /* as for hm_allocate: all is placed anew. NULL: only what is added */
};

/*
 * Change the size of a placed allocation to `bytes`, above 0. Its pages go with it and are not copied, except for those
 * that are placed anew on another node: the kernel copies these one by one. What is added may have any content, as what
 * was kept (kept.h) may be larger than what was asked for. Returns where it is now. NULL: it has not changed, as
 * `memory` did not come from hm_allocate or has files in it, the kernel does not move it (the program has changed a
 * part of it, by mprotect and the like), there are no addresses or mappings left, or the caller is in a signal handler
 * that has interrupted this function or one of allocate.h. Keeps errno.
 */
void *hm_resize(void *memory, size_t bytes, const struct hm_resize *wish);

#endif
