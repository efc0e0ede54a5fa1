/* SPDX-License-Identifier: Apache-2.0 */
/* A DAMON broker that looks at this process and some children all the time, on a simulated kernel. */
#ifndef HM_STEADYFIXTURE_H
#define HM_STEADYFIXTURE_H

#include "leasefixture.h"

#define STEADY_PIDS 5

extern pid_t steady_pids[STEADY_PIDS]; /* this process, and children that only wait */

pid_t steady_fork(void);
int steady_fork_all(void **state);
int steady_end_all(void **state);
/* Watches the first n of the processes. */
void steady_watch(uint32_t n);
bool steady_is_on(unsigned k);
/* Has lists of all processes come for a second, with so many looks that found an access. */
void steady_look(uint32_t accesses);

#endif
