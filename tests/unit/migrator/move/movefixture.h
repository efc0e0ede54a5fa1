/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mover over the kernel model of movekernel.h. Nodes 0 and 1 are fast, 2 and 3 slow; 0 is near 2, 1 near 3. A test
 * program must link with the --wrap options that movekernel.h names. movefixture.c replaces hm_ranks_is_ours,
 * and hm_cpus_of, which then finds none.
 */
#ifndef MOVEFIXTURE_H
#define MOVEFIXTURE_H

#include <stdbool.h>

#include "migrator/move/mover.h"
#include "movekernel.h"

extern struct hm_nodes nodes;
extern struct hm_range range; /* the only mapping of the only process */
extern struct hm_mover mover;
extern struct hm_maps maps[1];
/* is_ours: the process is still the one that was taken; is_stopped: the mover must end; is_owner: pages 100 to 149 of
 * the mapping, if they are a mapping of their own, are of a file of the user's; is_reserved: others may count on the
 * fast tier's pool of huge pages */
extern bool is_ours, is_stopped, is_owner, is_reserved;
extern int ours_number;  /* errno where it is not ours */
extern int n_cpus_asked; /* how often the process's CPUs were asked for */

/* Set-up for cmocka: all pages on node 2, room for all on each node, no limit, the longest batches (HM_BATCH_PAGES),
 * transparent huge pages enabled. */
int move_set_up(void **state);
int move_tear_down(void **state);

/* Starts the mover in its initial state, without limits. */
void mover_start(void);
/* Promotes these pages of the mapping. */
void promote(unsigned first, unsigned count);

#endif
