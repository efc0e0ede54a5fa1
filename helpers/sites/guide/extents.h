/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the arenas: stretches of addresses on the fast tier's nodes, those of a limited site as far as its
 * limit goes. They are never unmapped. Pages that the arenas do not use are given back. */
#ifndef HM_SITES_GUIDE_EXTENTS_H
#define HM_SITES_GUIDE_EXTENTS_H

#include <stdbool.h>

#include "preload.h"

#define HM_EXTENTS_ALIGN ((size_t)2 << 20) /* the most that an arena's memory can be aligned to */

/* Of which tier's arenas is this address? HM_GUIDE_SLOW: of none. Takes no lock. */
enum hm_guide_tier hm_extents_tier(const void *memory);

/* Has jemalloc begin, once. Files are read, so the thread must not be cancelled here. Returns 0, or -1. */
int hm_extents_begin(void);

/* Makes an arena of jemalloc for sites of a tier that takes its memory from here. Returns 0, or -1. */
int hm_extents_make_arena(enum hm_guide_tier tier, unsigned *arena);

#endif
