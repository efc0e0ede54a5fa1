/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the preload library, from its environment: which allocations go to the slow tier. Pure but for
 * hm_preload_read. Nothing here calls malloc.
 *
 *     HYBRIDMEM_ISOLATE_NODES    "fast=0@0,1@1 slow=2@0,3@1": nodes and sockets (where known); without it: nothing
 *     HYBRIDMEM_ISOLATE_SIZE     from this size on; default 32M
 *     HYBRIDMEM_ISOLATE_CALLERS  "fast=NAME,slow=MODULE+0xOFFSET,...": who calls malloc decides, whatever the size
 */
#ifndef HM_ALLOC_PRELOAD_H
#define HM_ALLOC_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "layout.h"

#define HM_PRELOAD_NODES "HYBRIDMEM_ISOLATE_NODES"
#define HM_PRELOAD_CALLERS 32
#define HM_PRELOAD_NAME 64
/* From here on glibc maps each allocation by itself, whatever it has learnt (DEFAULT_MMAP_THRESHOLD_MAX): ours cost no
 * more. */
#define HM_PRELOAD_SIZE ((size_t)32 << 20)

struct hm_preload_caller {
    bool is_slow;
    char name[HM_PRELOAD_NAME]; /* of a function, or of a module (the last part of its path) where has_offset */
    bool has_offset;
    uint64_t offset; /* of the address that malloc returns to, from the module's start */
};

struct hm_preload_rules {
    bool is_on;
    size_t least_bytes;
    int n_callers;
    struct hm_preload_caller caller[HM_PRELOAD_CALLERS];
};

/* Parse each variable; NULL: not set. Return 0, or -1 (EINVAL): the whole variable is then left out. */
int hm_preload_parse_nodes(const char *text, struct hm_layout *layout, struct hm_error *error);
int hm_preload_parse_size(const char *text, struct hm_preload_rules *rules, struct hm_error *error);
int hm_preload_parse_callers(const char *text, struct hm_preload_rules *rules, struct hm_error *error);

/* Who called: the function's name and the module's path may be NULL. */
struct hm_preload_site {
    const char *function, *module;
    uint64_t offset;
};

/* Does an allocation of this size go to the slow tier? The first rule for the caller decides, else the size; `site` may
 * be NULL where there are no rules for callers. */
bool hm_preload_is_slow(const struct hm_preload_rules *rules, size_t bytes, const struct hm_preload_site *site);

/* The environment's rules. A variable that is wrong is said in one line on standard error and leaves all as it is
 * without us. */
void hm_preload_read(struct hm_preload_rules *rules);

#endif
