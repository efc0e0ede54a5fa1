/* SPDX-License-Identifier: Apache-2.0 */
/* For preload libraries that place no small allocations. */
#include "small.h"

const struct hm_fork_handlers hm_small_fork = {NULL, NULL, NULL};

void *hm_small_take(size_t alignment, size_t bytes, bool is_zeroed, struct hm_preload_where where)
{
    (void)alignment;
    (void)bytes;
    (void)is_zeroed;
    (void)where;
    return NULL;
}

bool hm_small_has(const void *memory)
{
    (void)memory;
    return false;
}

bool hm_small_stays(const void *memory, struct hm_preload_where where)
{
    (void)memory;
    (void)where;
    return false;
}

size_t hm_small_bytes(const void *memory)
{
    (void)memory;
    return 0;
}

bool hm_small_give(void *memory)
{
    (void)memory;
    return false;
}
