/* SPDX-License-Identifier: Apache-2.0 */
/* What bench does to memory. Addresses are of whole cache lines. */
#ifndef HM_CLI_BENCH_KERNELS_H
#define HM_CLI_BENCH_KERNELS_H

#include <stddef.h>

#define HM_BENCH_LINE 64

/* Load every word of `from` and add them up; store every line of `to`, copied from `from`; store every line of `to`
 * past the caches. Arguments that a kernel has no use for are NULL. */
void hm_benchkernel_accumulate(const char *from, char *to, size_t bytes);
void hm_benchkernel_copy(const char *from, char *to, size_t bytes);
void hm_benchkernel_nt_write(const char *from, char *to, size_t bytes);

#endif
