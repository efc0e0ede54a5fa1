/* SPDX-License-Identifier: Apache-2.0 */
/* Small machines for the tests of what is planned on them. */
#ifndef MACHINES_H
#define MACHINES_H

#include "core/tiers/tiers.h"

/* Make the machine of this name: two sockets with CPUs 0-3 and 4-7, or one. */
void machine_make(const char *name, struct hm_tiers *tiers);

#endif
