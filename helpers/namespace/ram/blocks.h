/* SPDX-License-Identifier: Apache-2.0 */
/* The memory blocks in which the kernel takes memory online and offline, through sysfs. libdaxctl does not suffice: it
 * does not tell the zones of a device with several, nor which block could not be taken offline. */
#ifndef HM_NAMESPACE_RAM_BLOCKS_H
#define HM_NAMESPACE_RAM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_BLOCKS_SYSTEM "/sys/devices/system"

enum hm_zone {
    HM_ZONE_NONE,    /* no block is online */
    HM_ZONE_MOVABLE, /* only pages that can be moved away, so none of the kernel's own */
    HM_ZONE_NORMAL,  /* any pages */
    HM_ZONE_MIXED    /* some blocks are movable, some normal */
};

struct hm_blocks {
    unsigned n, online;       /* number of blocks, and of those online */
    unsigned movable, normal; /* number of online blocks in each zone */
    unsigned first_online;    /* number of the lowest online block, "memory<N>" in sysfs */
    unsigned last_online;     /* number of the highest online block */
    uint64_t bytes;           /* size of one block */
};

/* The size of a block in bytes, or 0 with a text where the kernel cannot take memory online and offline. */
uint64_t hm_blocks_size(const char *system, struct hm_error *error);

/* How many whole blocks are in a range of addresses; the driver kmem leaves out the rest. */
uint64_t hm_blocks_within(uint64_t start, uint64_t bytes, uint64_t block);

/* Read the state of the range's blocks on the node. `system` is HM_BLOCKS_SYSTEM. It is no error if there is no block:
 * the range is not memory, or the node does not exist. Returns 0 or -1. */
int hm_blocks_read(const char *system, int node, uint64_t start, uint64_t bytes, struct hm_blocks *blocks,
                   struct hm_error *error);

/*
 * Take the range's online blocks offline, the highest one only where `with_last` (without any online block, the node
 * disappears if it has no other memory). A block that fails does not stop the others; a signal does. Returns 0, or -1
 * with the first errno, or EINTR after a signal.
 */
int hm_blocks_take_offline(const char *system, int node, uint64_t start, uint64_t bytes, bool with_last);

/* The zone that the online blocks are in. */
enum hm_zone hm_blocks_zone(const struct hm_blocks *blocks);

/* "movable", "normal", "mixed"; "" for none. */
const char *hm_zone_name(enum hm_zone zone);

#endif
