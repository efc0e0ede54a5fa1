/* SPDX-License-Identifier: Apache-2.0 */
/* Small simulated machines for tests of plans. */
#ifndef MACHINES_H
#define MACHINES_H

#include "core/tiers/tiers.h"

/* Make the machine with this name (machines.c lists them). Its first socket has CPUs 0-3, a second one 4-7. */
void machine_make(const char *name, struct hm_tiers *tiers);

#endif
