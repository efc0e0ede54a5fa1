/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPU or NUMA node numbers. They are plain values: they can be copied, stored in files of fixed layout, and
 * kept over fork without allocation, unlike the bitmaps of hwloc and libnuma. */
#ifndef HM_BASE_SET_H
#define HM_BASE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define HM_SET_BITS 8192 /* CONFIG_NR_CPUS of x86-64 distributions; nodes are below 1024 */

struct hm_set {
    uint64_t word[HM_SET_BITS / 64];
};

void hm_set_clear(struct hm_set *set);
/* To add or to remove a number out of range changes nothing; no set has such a number. */
void hm_set_add(struct hm_set *set, unsigned member);
void hm_set_remove(struct hm_set *set, unsigned member);
bool hm_set_has(const struct hm_set *set, unsigned member);
bool hm_set_is_empty(const struct hm_set *set);
bool hm_set_equal(const struct hm_set *a, const struct hm_set *b);
/* Is every member of `a` in `b`? */
bool hm_set_within(const struct hm_set *a, const struct hm_set *b);
bool hm_set_intersects(const struct hm_set *a, const struct hm_set *b);
void hm_set_union(struct hm_set *into, const struct hm_set *other);
void hm_set_intersect(struct hm_set *into, const struct hm_set *other);
void hm_set_subtract(struct hm_set *from, const struct hm_set *other);
unsigned hm_set_count(const struct hm_set *set);
/* The lowest member at or above `from`, or -1. To visit all: for (int n = hm_set_next(s, 0); n >= 0; n = hm_set_next(s,
 * n + 1)). */
int hm_set_next(const struct hm_set *set, unsigned from);

/* Parse the kernel's list format ("0-3,8"; "" is the empty set). The whole text must have this format; errors name the
 * bad word. Returns 0 or -1 (EINVAL). */
int hm_set_parse(struct hm_set *set, const char *text, struct hm_error *error);
/* Write the list format into `out` (`size` bytes, always terminated). A list that is too long is cut and ends in "...".
 * Returns `out`. */
char *hm_set_format(const struct hm_set *set, char *out, size_t size);

#endif
