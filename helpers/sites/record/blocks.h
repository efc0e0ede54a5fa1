/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocations of this process that are not small: in the process's file, where the recorder sees them, and an index
 * by address. The caller holds the lock of the notes. Calls no malloc.
 */
#ifndef HM_SITES_RECORD_BLOCKS_H
#define HM_SITES_RECORD_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "table.h"

/* Begins to write into this new file. What is known already, as in the child of a fork, is taken over as inherited.
 * Returns whether it could. */
bool hm_blocks_open(int fd, const char *path, pid_t pid);
struct hm_sites_process *hm_blocks_process(void);

/* What has ended. */
struct hm_blocks_part {
    uint64_t bytes; /* 0: nothing */
    uintptr_t address;
    uint64_t born_ns;
    uint64_t before; /* of the block (table.h) */
    uint32_t entry;
    bool is_inherited;
    bool is_shared;
    bool is_placed; /* its pages have a policy of their own (place.h) */
    bool is_fast;   /* its bytes were taken of what is left of the fast tier */
    bool is_last;   /* nothing is left of the allocation */
};

struct hm_blocks_new {
    uintptr_t address;
    uint64_t bytes;
    uint64_t born_ns;
    uint32_t entry;
    bool is_mapping;
    bool is_shared; /* as in table.h */
    bool is_placed;
    bool is_fast;
    bool is_inherited;
    const struct hm_blocks_part
        *was; /* the mapping that it was before, whose place in the order stays; NULL: it is new */
};

/* Nothing that is known begins at the address. Returns false where there is no room. */
bool hm_blocks_add(const struct hm_blocks_new *new);

/* The allocation that begins there ends. */
struct hm_blocks_part hm_blocks_drop(uintptr_t address);
/* Any one ends that has not; `entry` is HM_SITES_ENTRIES where there is none. */
struct hm_blocks_part hm_blocks_drop_any(void);
/* What one mapping has in this range ends. To be called again until nothing is found. Of a mapping that is cut in the
 * middle, the rest behind it is forgotten, too. */
struct hm_blocks_part hm_blocks_cut(uintptr_t address, uint64_t bytes);

#endif
