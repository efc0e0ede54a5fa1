/* SPDX-License-Identifier: Apache-2.0 */
/* A mover over movekernel.h's model. Nodes 0, 1 are fast, 2, 3 slow; 0 is near 2, 1 near 3. A test program links with
 * what the model wants, and with --wrap for hm_ranks_is_ours and hm_nodes_refresh. */
#ifndef MOVEFIXTURE_H
#define MOVEFIXTURE_H

#include <stdbool.h>

#include "migrator/move/mover.h"
#include "movekernel.h"

extern struct hm_nodes nodes;
extern struct hm_range range; /* the one mapping of the one process */
extern struct hm_mover mover;
extern bool is_ours, is_stopped; /* the process is still the one that was taken; the mover is to end */

/* Of cmocka: all pages on node 2, room for all on each node, no limit; batches as long as they may be. */
int move_set_up(void **state);
int move_tear_down(void **state);

/* The mover as it begins by itself, with no limit. */
void mover_start(void);
/* Pages of the mapping to the fast nodes. */
void promote(unsigned first, unsigned count);

#endif
