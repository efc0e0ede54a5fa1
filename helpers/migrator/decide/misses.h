/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how many loads and stores reach memory. For the decision code, if samples are of loads and stores. */
#ifndef HM_MIGRATOR_DECIDE_MISSES_H
#define HM_MIGRATOR_DECIDE_MISSES_H

/*
 * Accesses to memory per load or store of a page, if only its heat is known. `heat` >= 0 is the page's heat, `mean` > 0
 * the mean over all pages with any heat, in the same unit. The miss ratio of programs falls with the square root of
 * their cache size (Hartstein, Srinivasan, Puzak, Emma: "On the Nature of Cache Miss Behavior: Is It sqrt(2)?", Journal
 * of Instruction-Level Parallelism 10, 2008). Memory that is accessed k times as densely occupies about k times as much
 * of a shared cache that keeps what was used last: so it misses 1 / sqrt(k) as often. Memory below the mean is streamed
 * through the cache, and misses as often as the mean. A factor common to all pages cannot be seen in the samples: at
 * the mean it is set to 0.05, in the middle of published miss ratios of HPC codes, 1 to 20 %.
 */
double hm_misses_per_access(double heat, double mean);

#endif
