/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the preload library of guided programs share. Nothing here calls malloc. */
#ifndef HM_SITES_GUIDE_PRELOAD_H
#define HM_SITES_GUIDE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/preload.h"
#include "limit.h"

/* Where memory is to be. 0: the next malloc has it. */
enum hm_guide_tier {
    HM_GUIDE_SLOW,
    HM_GUIDE_FAST,
    HM_GUIDE_LIMITED, /* fast, as far as the site's own limit has it */
};

/* By its site, where is a mapping of so many bytes to be? As hm_preload_where, which knows size classes, too: the tier
 * is one of these, and the slices are those that are fast (profile/slices.h) of a large allocation of a divided site,
 * else all. */
struct hm_preload_where hm_guide_where_of_mapping(size_t bytes, const void *caller);

/* Lets new pages of this range come from the fast tier's nodes, as far as these have some; `has_pages`: it has pages,
 * which are moved there. Returns 0, or -1 with errno: the kernel refuses, and the memory is where the process's policy
 * has it. */
int hm_guide_bind_fast(void *memory, size_t bytes, bool has_pages);

/* What this process may have of the fast tier, and what the limited site may have of it. */
extern struct hm_limit hm_guide_limit, hm_guide_limited;

/* Takes bytes of the limits, or what is left where that is at least `least`. Returns how many were taken; 0: none. */
uint64_t hm_guide_take(enum hm_guide_tier tier, uint64_t bytes, uint64_t least);
/* The least that an allocation takes: what is left may be a part of it, and so much is better than nothing. */
uint64_t hm_guide_least(enum hm_guide_tier tier, uint64_t bytes);
/* Frees what is kept of freed memory (alloc/kept.h), where the limit would not have room for it beside what was taken.
 * To be called where something was. */
void hm_guide_fit(void);
void hm_guide_give(enum hm_guide_tier tier, uint64_t bytes);

extern _Thread_local bool hm_guide_is_inside; /* of the library: the walk, or what it calls, allocates */

/* Has this thread come from the library itself? Then its allocations are not guided. Returns whether it had not; then
 * hm_guide_leave has to follow. */
static inline bool hm_guide_enter(void)
{
    if (hm_guide_is_inside)
        return false;
    hm_guide_is_inside = true;
    return true;
}

static inline void hm_guide_leave(void)
{
    hm_guide_is_inside = false;
}

/* What was known of code may be wrong: an object was unloaded. */
void hm_guide_forget_code(void);

#endif
