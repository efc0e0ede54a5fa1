/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of the kernel's pages: 4 KiB on x86; 4, 16 or 64 KiB on Arm, as the kernel was built. Recorded traces, and
 * their replay, always have pages of 4 KiB (migrator/replay/trace.h).
 */
#ifndef HM_BASE_PAGESIZE_H
#define HM_BASE_PAGESIZE_H

#include <stdint.h>

#include "amount.h"

#define HM_LINE_BYTES 64 /* of memory: what a cache loads and stores at a time */

/* The number of bits of an address within a page: 12 for 4 KiB. It is read once. */
unsigned hm_page_shift(void);

/* Bytes of a page. */
static inline uint64_t hm_page_size(void)
{
    return UINT64_C(1) << hm_page_shift();
}

/* The bytes of all pages that are needed for so many bytes. The caller knows that this does not overflow. */
static inline uint64_t hm_whole_pages(uint64_t bytes)
{
    return hm_round_up(bytes, hm_page_size());
}

/*
 * Pages of a transparent huge page, which also is aligned to as many: those of one table of pages, with 8 bytes for
 * each. 512 (2 MiB) with pages of 4 KiB, 2048 (32 MiB) with 16 KiB, 8192 (512 MiB) with 64 KiB.
 */
static inline uint64_t hm_huge_pages(void)
{
    return hm_page_size() / 8;
}

#endif
