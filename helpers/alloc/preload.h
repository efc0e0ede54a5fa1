/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the preload library, from its environment: which allocations go to the slow tier. Pure, except for
 * hm_preload_read. Nothing here calls malloc.
 *
 *     HYBRIDMEM_ISOLATE_NODES    "fast=0@0,1@1 slow=2@0,3@1": nodes, with sockets where known; not set: no rules
 *     HYBRIDMEM_ISOLATE_SIZE     allocations of this size or more are slow; default 32M
 *     HYBRIDMEM_ISOLATE_CALLERS  "fast=NAME,slow=MODULE+0xOFFSET,...": by the caller of malloc, any size from 128K on
 */
#ifndef HM_ALLOC_PRELOAD_H
#define HM_ALLOC_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define HM_PRELOAD_NODES "HYBRIDMEM_ISOLATE_NODES"
#define HM_PRELOAD_CALLERS 32
#define HM_PRELOAD_NAME 64
/* From this size on glibc itself makes a mapping for each allocation (DEFAULT_MMAP_THRESHOLD_MAX), so placed memory
 * costs no more. */
#define HM_PRELOAD_SIZE ((size_t)32 << 20)

struct hm_preload_caller {
    bool is_slow;
    char name[HM_PRELOAD_NAME]; /* of a function; with an offset: of a module (last part of its path) */
    bool has_offset;
    uint64_t offset; /* distance of malloc's return address from the module's start, in bytes */
};

struct hm_preload_rules {
    bool is_on;
    size_t least_bytes;
    int n_callers;
    struct hm_preload_caller caller[HM_PRELOAD_CALLERS];
};

/* Parse one variable each; `text` is NULL where it is not set. Return 0, or -1 (EINVAL). */
int hm_preload_parse_nodes(const char *text, struct hm_layout *layout, struct hm_error *error);
int hm_preload_parse_size(const char *text, struct hm_preload_rules *rules, struct hm_error *error);
int hm_preload_parse_callers(const char *text, struct hm_preload_rules *rules, struct hm_error *error);

/* The caller of malloc. The function's name and the module's path may be NULL. */
struct hm_preload_site {
    const char *function, *module;
    uint64_t offset;
};

/* Does an allocation of this size go to the slow tier? The first rule that matches the caller decides, else the size.
 * `site` may be NULL where there are no rules for callers. */
bool hm_preload_is_slow(const struct hm_preload_rules *rules, size_t bytes, const struct hm_preload_site *site);

/* Read the rules from the environment. Where a variable is wrong, print one line on standard error and leave the rules
 * off, so that all allocations go to the next malloc. */
void hm_preload_read(struct hm_preload_rules *rules);

/* ---------------------------------------------------------- for preload.c, defined by each preload library */

/* Where memory is to be; the words are the library's own. Zeros: the next library should serve it. */
struct hm_preload_where {
    unsigned tier;
    uint32_t slices;
};

/* Where is an allocation of this size, 1 or more, to be? To be called once for each, and for each realloc, also one
 * that leaves its memory where it is. `caller` is the return address of the function that the program has called. May
 * change errno. */
struct hm_preload_where hm_preload_where(size_t bytes, const void *caller);

struct hm_preload_choice {
    enum hm_alloc_policy policy;
    double fast_share;    /* of HM_ALLOC_SPILL, 0..1 */
    uint32_t fast_slices; /* the same by place, as hm_allocate has them; 0: by share */
    size_t spare_bytes;   /* that it may be larger, where kept memory is (allocate.h) */
    size_t fast_bytes;    /* that were taken of what the library may place in the fast tier; 0: nothing is counted */
    bool is_marked;       /* the allocation is marked, and hm_preload_count told so */
};

/* Which tier should have an allocation of this size, HM_ALLOC_LEAST or more, that is to be there? Returns false where
 * the next library should serve it. May change errno. */
bool hm_preload_choose(size_t bytes, struct hm_preload_where where, struct hm_preload_choice *choice);

/* What realloc does with an allocation of HM_ALLOC_LEAST bytes or more that was placed. */
enum hm_preload_how {
    HM_PRELOAD_STAYS, /* it stays where it is; only what is added gets a place */
    HM_PRELOAD_ANEW,  /* it is placed as a new one, and what is in the wrong tier then is moved */
    HM_PRELOAD_MOVES, /* it is copied to a new one */
};

/* The same, where it is to have this size, and to be there. */
struct hm_allocated;
enum hm_preload_how hm_preload_resized(const struct hm_allocated *was, size_t bytes, struct hm_preload_where where);

/* Of an allocation, which was marked or not, `now_bytes` of the fast tier are to be counted, no longer `counted_bytes`.
 */
void hm_preload_count(bool is_marked, size_t counted_bytes, size_t now_bytes);

#endif
