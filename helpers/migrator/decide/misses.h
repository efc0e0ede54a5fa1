/* SPDX-License-Identifier: Apache-2.0 */
/* How many loads and stores reach memory. For the decision code, where samples are of loads and stores. */
#ifndef HM_MIGRATOR_DECIDE_MISSES_H
#define HM_MIGRATOR_DECIDE_MISSES_H

/*
 * Accesses to memory for each load or store of a page, where only its heat is known: `heat` >= 0 is the page's, `mean`
 * > 0 that of all pages with any, in one unit. The miss ratio of programs falls with the square root of the cache that
 * they have (Hartstein, Srinivasan, Puzak, Emma: "On the Nature of Cache Miss Behavior: Is It sqrt(2)?", Journal of
 * Instruction-Level Parallelism 10, 2008), and what is accessed k times as densely holds about k times as much of a
 * shared cache that keeps what was used last: it misses 1 / sqrt(k) as often. What is below the mean is streamed
 * through the cache, and misses no more often than the mean. A factor that is common to all pages cannot be seen in the
 * samples: at the mean it is 0.05, in the middle of published miss ratios of HPC codes, 1 to 20 %.
 */
double hm_misses_per_access(double heat, double mean);

#endif
