/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast memory that a guided process may still have placed: a count of bytes, and the process's own mappings that
 * are counted. No lock is taken, so signal handlers and children of fork may call all of it. Pure.
 */
#ifndef HM_SITES_GUIDE_LIMIT_H
#define HM_SITES_GUIDE_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sites/record/table.h"

#define HM_LIMIT_MAPPINGS HM_SITES_MAPPINGS
#define HM_LIMIT_RANGES 32

struct hm_limit {
    uint64_t most_bytes;    /* UINT64_MAX: nothing is limited */
    _Atomic uint64_t used;  /* bytes; more than most_bytes only while a block is moved to a larger one */
    atomic_uint n_mappings; /* slots that were ever used */
    _Atomic uint64_t mapping[HM_LIMIT_MAPPINGS]; /* address and size in units of 4 KiB; 0: free */
};

/*
 * Takes `bytes`, or what is left where that is at least `least` bytes (1 or more). Returns how many were taken: 0,
 * none.
 */
uint64_t hm_limit_take(struct hm_limit *limit, uint64_t bytes, uint64_t least);
/* Takes them whether or not they are left. */
void hm_limit_add(struct hm_limit *limit, uint64_t bytes);
/* The bytes that are left; UINT64_MAX: there is no limit. */
uint64_t hm_limit_left(const struct hm_limit *limit);
void hm_limit_give(struct hm_limit *limit, uint64_t bytes);

enum hm_limit_taken {
    HM_LIMIT_TAKEN,
    HM_LIMIT_NO_ROOM, /* for so many bytes */
    HM_LIMIT_NO_SLOT, /* for any: there are too many mappings */
};

/* Takes the bytes of a mapping. */
enum hm_limit_taken hm_limit_map(struct hm_limit *limit, const void *memory, size_t bytes);
/* The same for a mapping that has its place already. */
void hm_limit_note(struct hm_limit *limit, const void *memory, size_t bytes);
/* Gives back what of this range was taken by hm_limit_map. Returns these bytes. */
uint64_t hm_limit_unmap(struct hm_limit *limit, const void *memory, size_t bytes);

struct hm_limit_ranges {
    size_t n;
    struct {
        size_t from, to; /* bytes behind the beginning of the memory */
    } range[HM_LIMIT_RANGES];
};

/* As hm_limit_unmap, and adds what it was to `ranges` (NULL: nowhere), in ascending order: of more than have room
 * there, not all. */
uint64_t hm_limit_take_out(struct hm_limit *limit, const void *memory, size_t bytes, struct hm_limit_ranges *ranges);

#endif
