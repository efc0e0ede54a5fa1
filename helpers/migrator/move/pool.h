/* SPDX-License-Identifier: Apache-2.0 */
/* The node-wide pool of huge pages of hugetlbfs. */
#ifndef HM_MIGRATOR_MOVE_POOL_H
#define HM_MIGRATOR_MOVE_POOL_H

#include <stdbool.h>

#include "nodes.h"

/*
 * May huge pages of hugetlbfs be moved to the tier? A move takes a free page of the other node's pool, if there is one.
 * A process that has reserved huge pages, which it has not used yet, is killed (SIGBUS) if it may use only nodes whose
 * pools have none left: the kernel counts what is reserved for all nodes together. So the answer is false while
 * anything is reserved and the tier's pools have free pages. Without free ones, the kernel makes the page that it moves
 * to. `sysfs` is "/sys" except in tests. False too where it cannot be read.
 */
bool hm_pool_may_take(const char *sysfs, const struct hm_nodes *nodes, unsigned tier);

#endif
