/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over memory that bench measures. Addresses and sizes are multiples of a cache line. */
#ifndef HM_CLI_BENCH_KERNELS_H
#define HM_CLI_BENCH_KERNELS_H

#include <stddef.h>

#define HM_BENCH_LINE 64 /* bytes of a cache line */

/* Loads and adds up every word of `from`. Ignores `to`, which may be NULL. */
void hm_benchkernel_accumulate(const char *from, char *to, size_t bytes);
/* Copies every line of `from` to `to`. */
void hm_benchkernel_copy(const char *from, char *to, size_t bytes);
/* Stores every line of `to`, past the caches where hm_bench_is_non_temporal (bench.h) says so. Ignores `from`, which
 * may be NULL. */
void hm_benchkernel_nt_write(const char *from, char *to, size_t bytes);

#endif
