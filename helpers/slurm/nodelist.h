/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's lists of nodes: "n1,n[3-5,08-10]b". */
#ifndef HM_SLURM_NODELIST_H
#define HM_SLURM_NODELIST_H

#include <stdbool.h>
#include <stddef.h>

/* Is `node` in the list of `length` bytes? A text that is no list has no nodes. As users can write such texts, the time
 * that this takes does not grow with the size of the ranges. Pure. */
bool hm_nodelist_has(const char *list, size_t length, const char *node);

#endif
