/* SPDX-License-Identifier: Apache-2.0 */
/* A DAMON broker that looks at this process and at a child, in bursts, on a simulated kernel. */
#ifndef HM_BURSTFIXTURE_H
#define HM_BURSTFIXTURE_H

#include "leasefixture.h"

#define MS_NS (SECOND_NS / 1000)
#define LOOK_US 16000 /* between the looks of the first burst */
#define LENGTH_NS ((uint64_t)LOOK_US * 1000 * HM_DAMON_VISIT_LOOKS)

extern pid_t burst_child; /* 0: it has ended */

int burst_set_up(void **state);
int burst_tear_down(void **state);
void burst_end_child(void);
/* Watches these processes, `n_live` of which live, in bursts. */
void burst_watch(const pid_t *pid, uint32_t n, uint32_t n_live);
/* Watches this process, and the child as the second one. */
void burst_watch_both(void);
/* Watches this process. */
void burst_watch_one(void);
bool burst_is_on(void);
/* Has the lists of these processes come at the end of the burst, and the broker work. */
void burst_end(uint32_t lists);
/* Has the client got no message? */
void burst_assert_silent(void);
/* Has it got the list of this process, with both of its pages? */
void burst_assert_list(uint32_t process);

#endif
