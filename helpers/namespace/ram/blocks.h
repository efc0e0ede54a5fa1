/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks in which the kernel takes memory on- and offline, by sysfs: libdaxctl tells neither the zones of a device
 * that has several, nor which block is left.
 */
#ifndef HM_NAMESPACE_RAM_BLOCKS_H
#define HM_NAMESPACE_RAM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_BLOCKS_SYSTEM "/sys/devices/system"

enum hm_zone {
    HM_ZONE_NONE,    /* nothing is online */
    HM_ZONE_MOVABLE, /* pages that can be moved away: never the kernel's own */
    HM_ZONE_NORMAL,  /* anything */
    HM_ZONE_MIXED    /* some blocks in one, some in the other */
};

struct hm_blocks {
    unsigned n, online;       /* how many, and how many of them are online */
    unsigned movable, normal; /* of those that are online */
    unsigned first_online;    /* number of the lowest one, "memory<N>" in sysfs */
    unsigned last_online;     /* of the highest one */
    uint64_t bytes;           /* of one block */
};

/* The size of a block, or 0 with a text where the kernel cannot take memory on- and offline. */
uint64_t hm_blocks_size(const char *system, struct hm_error *error);

/* How many whole blocks are in a range of addresses: kmem leaves out what is around them. */
uint64_t hm_blocks_within(uint64_t start, uint64_t bytes, uint64_t block);

/*
 * What there is of the range on the node; `system` is HM_BLOCKS_SYSTEM. No block at all is fine: the range is no
 * memory, or the node is not there. Returns 0 or -1.
 */
int hm_blocks_read(const char *system, int node, uint64_t start, uint64_t bytes, struct hm_blocks *blocks,
                   struct hm_error *error);

/*
 * Take the blocks of the range that are online offline, the highest one only where `with_last`: with it the node goes,
 * if it has no other memory. All are tried; a signal ends it. Returns 0, or -1 with the first errno.
 */
int hm_blocks_take_offline(const char *system, int node, uint64_t start, uint64_t bytes, bool with_last);

enum hm_zone hm_blocks_zone(const struct hm_blocks *blocks);

/* "movable", "normal", "mixed"; "" for none. */
const char *hm_zone_name(enum hm_zone zone);

#endif
