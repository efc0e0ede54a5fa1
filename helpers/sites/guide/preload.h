/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the preload library of guided programs share. Nothing here calls malloc. */
#ifndef HM_SITES_GUIDE_PRELOAD_H
#define HM_SITES_GUIDE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "limit.h"

/* Does an allocation of so many bytes belong to the fast tier, by its size class or its site? `caller` is the return
 * address of the function that the program has called. May change errno. */
bool hm_guide_is_fast(size_t bytes, const void *caller);
/* The same for a mapping, which is in no size class. */
bool hm_guide_is_fast_site(const void *caller);

/* Lets new pages of this range come from the fast tier's nodes, as far as these have some. */
void hm_guide_bind_fast(void *memory, size_t bytes);

/* What this process may have of the fast tier. */
extern struct hm_limit hm_guide_limit;

/* Has this thread come from the library itself? Then its allocations are not guided. */
bool hm_guide_enter(void); /* returns whether it had not; then hm_guide_leave has to follow */
void hm_guide_leave(void);

/* What was known of code may be wrong: an object was unloaded. */
void hm_guide_forget_code(void);

#endif
