/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WORDS (HM_BENCH_LINE / sizeof(uint64_t))

/* Keeps the compiler from replacing a loop by memcpy or memset, which bypass the caches for large sizes. */
#define KEEP_ORDER() __asm__ volatile("" ::: "memory")

void hm_benchkernel_accumulate(const char *from, char *to, size_t bytes)
{
    uint64_t sum[WORDS] = {0};
    (void)to;
    for (size_t at = 0; at < bytes; at += HM_BENCH_LINE) {
        const uint64_t *line = (const uint64_t *)(const void *)(from + at);
        for (size_t i = 0; i < WORDS; i++) /* separate sums, which do not wait for each other */
            sum[i] += line[i];
    }
    for (size_t i = 1; i < WORDS; i++)
        sum[0] += sum[i];
    __asm__ volatile("" ::"r"(sum[0])); /* uses the sums, so that they are computed */
}

void hm_benchkernel_copy(const char *from, char *to, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += HM_BENCH_LINE) {
        const uint64_t *source = (const uint64_t *)(const void *)(from + at);
        uint64_t *line = (uint64_t *)(void *)(to + at);
        uint64_t word[WORDS];
        for (size_t i = 0; i < WORDS; i++)
            word[i] = source[i];
        for (size_t i = 0; i < WORDS; i++)
            line[i] = word[i];
        KEEP_ORDER();
    }
}

void hm_benchkernel_nt_write(const char *from, char *to, size_t bytes)
{
    (void)from;
#ifdef __SSE2__
    const __m128i value = _mm_set1_epi8(3);
    for (size_t at = 0; at < bytes; at += HM_BENCH_LINE) {
        __m128i *line = (__m128i *)(void *)(to + at);
        for (int i = 0; i < HM_BENCH_LINE / (int)sizeof(value); i++)
            _mm_stream_si128(line + i, value);
    }
    _mm_sfence();
#else
    for (size_t at = 0; at < bytes; at += HM_BENCH_LINE) {
        uint64_t *line = (uint64_t *)(void *)(to + at);
        for (size_t i = 0; i < WORDS; i++)
            line[i] = UINT64_C(0x0303030303030303);
        KEEP_ORDER();
    }
#endif
}

bool hm_bench_is_non_temporal(void)
{
#ifdef __SSE2__
    return true;
#else
    return false;
#endif
}
