/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over memory that bench measures. Addresses and sizes are multiples of a cache line. */
#ifndef HM_CLI_BENCH_KERNELS_H
#define HM_CLI_BENCH_KERNELS_H

#include <stddef.h>

#define HM_BENCH_LINE 64

/*
 * accumulate loads and adds up every word of `from`; copy copies every line of `from` to `to`; nt-write stores every
 * line of `to` past the caches. A kernel ignores the argument that it does not need, which may be NULL.
 */
void hm_benchkernel_accumulate(const char *from, char *to, size_t bytes);
void hm_benchkernel_copy(const char *from, char *to, size_t bytes);
void hm_benchkernel_nt_write(const char *from, char *to, size_t bytes);

#endif
