/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts by one digit after the other, the lowest first (Knuth, The Art of Computer Programming 3, 5.2.5). A phase has
 * tens of thousands of samples, and to compare two of them takes longer than to count digits.
 */
#include "pending.h"

#include <string.h>

#define DIGIT 8 /* bits */
#define VALUES (1U << DIGIT)

enum key { N_PAGES, PAGE, KEYS }; /* the one that decides last comes first */

static uint64_t key_of(const struct hm_observation *seen, enum key key)
{
    return key == PAGE ? seen->page : seen->n_pages;
}

static void sort_by_digit(const struct hm_observation *from, struct hm_observation *to, size_t n, enum key key,
                          unsigned shift)
{
    size_t place[VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        place[key_of(&from[i], key) >> shift & (VALUES - 1)]++;
    for (size_t value = 0; value < VALUES; value++) {
        size_t count = place[value];
        place[value] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[place[key_of(&from[i], key) >> shift & (VALUES - 1)]++] = from[i];
}

void hm_pending_sort(struct hm_observation *seen, struct hm_observation *spare, size_t n)
{
    struct hm_observation *from = seen, *to = spare;
    for (enum key key = N_PAGES; key < KEYS; key++) {
        uint64_t differing = 0; /* bits */
        for (size_t i = 1; i < n; i++)
            differing |= key_of(&from[i], key) ^ key_of(&from[0], key);
        for (unsigned shift = 0; shift < 64; shift += DIGIT) {
            if ((differing >> shift & (VALUES - 1)) == 0)
                continue;
            sort_by_digit(from, to, n, key, shift);
            struct hm_observation *sorted = to;
            to = from;
            from = sorted;
        }
    }
    if (from != seen)
        memcpy(seen, from, n * sizeof(*seen));
}
