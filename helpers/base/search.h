/* SPDX-License-Identifier: Apache-2.0 */
/* A binary search. Pure. */
#ifndef HM_BASE_SEARCH_H
#define HM_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* How many of n elements of `size` bytes, ascending by their number (a uint64_t, `offset` bytes into each), have one
 * that is not above `most`? So it is the place of the first that has. `elements` may be NULL where n is 0. */
static inline size_t hm_search_upto(const void *elements, size_t n, size_t size, size_t offset, uint64_t most)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const void *number = (const char *)elements + middle * size + offset;
        if (*(const uint64_t *)number <= most)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same of an array, by a member of its structures. */
#define HM_SEARCH_UPTO(array, n, member, most)                                                                         \
    hm_search_upto(array, n, sizeof(*(array)), offsetof(__typeof__(*(array)), member), most)

#endif
