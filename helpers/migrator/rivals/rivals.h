/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published policies of other systems, for comparison with ours in the replay of traces: each decides as its paper
 * says, from the same samples, for the same capacity and at the same charge for moves. No job can ask for them, and the
 * migrator does not link them. To add one, write a file and add its row to the table in rivals.c.
 *
 * What holds for all of them: they count by page of 4 KiB, as the traces do (their papers count by page of 2 MiB where
 * there are such pages), and a phase of the replay is their unit of time, as moves are decided once in a phase. Limits
 * of the rate of moves in bytes per second do not apply, as a trace has no time. The room that some keep free for new
 * memory is not kept free. The replay places new pages, so their rules for new memory do not apply.
 */
#ifndef HM_MIGRATOR_RIVALS_RIVALS_H
#define HM_MIGRATOR_RIVALS_RIVALS_H

#include "migrator/decide/algorithm.h"

extern const struct hm_algorithm hm_rival_hemem, hm_rival_memtis, hm_rival_arms, hm_rival_colloid;

/* The rivals by year of their publication; NULL past the last. */
const struct hm_algorithm *hm_rival_at(int n);

#endif
