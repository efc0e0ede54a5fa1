/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the preload library of guided programs share. Nothing here calls malloc. */
#ifndef HM_SITES_GUIDE_PRELOAD_H
#define HM_SITES_GUIDE_PRELOAD_H

#include <stdbool.h>

#include "base/set.h"

/* Does the site that allocates here have its memory in the fast tier? `caller` is the return address of the function
 * that the program has called. May change errno. */
bool hm_guide_is_fast(const void *caller);

/* The fast tier's nodes; empty where nothing is guided. */
const struct hm_set *hm_guide_fast_nodes(void);

/* What was known of code may be wrong: an object was unloaded. */
void hm_guide_forget_code(void);

#endif
