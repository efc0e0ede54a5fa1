/* SPDX-License-Identifier: Apache-2.0 */
/* Small simulated machines for tests of plans. */
#ifndef MACHINES_H
#define MACHINES_H

#include "core/tiers/tiers.h"

/* Make the machine with this name. It has two sockets with CPUs 0-3 and 4-7, or one. */
void machine_make(const char *name, struct hm_tiers *tiers);

#endif
