/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's lists of nodes: "n1,n[3-5,08-10]b". */
#ifndef HM_SLURM_NODELIST_H
#define HM_SLURM_NODELIST_H

#include <stdbool.h>
#include <stddef.h>

/* Is `node` in the list of `length` bytes? A text that is no list has no nodes. The time does not grow with the ranges
 * that the list names, as users can write such texts. Pure. */
bool hm_nodelist_has(const char *list, size_t length, const char *node);

#endif
