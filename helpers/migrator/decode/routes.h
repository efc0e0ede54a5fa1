/* SPDX-License-Identifier: Apache-2.0 */
/* Makes routes of machine code. */
#ifndef HM_MIGRATOR_DECODE_ROUTES_H
#define HM_MIGRATOR_DECODE_ROUTES_H

#include "code.h"

/*
 * Finds the access to memory that is nearest to the piece's address, and the route to it. A processor that has waited
 * for memory is interrupted right after the instruction that waited: so an access before the place comes first, if its
 * registers are still what they were, and nothing branches in between. Else it is the next one that the thread comes
 * to: by jumps, branches and loops, as far as the piece goes. Calls and returns end a route.
 * A route without an access has no steps; so has that of a piece whose sizes are too large.
 */
struct hm_route hm_routes_find(struct hm_code *code, const struct hm_route_code *piece);

#endif
