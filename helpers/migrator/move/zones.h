/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel keeps of the free memory of a node, by the watermarks of its zones. Users' pages go to another node
 * when a zone has less free than its low watermark (and what it protects for the kernel's own use). Only where no node
 * that a page may be on has so much, the kernel wakes its reclaim, which then frees memory up to the high watermark.
 * So whoever leaves what is below the high watermark free is never a reason for reclaim, nor one of its victims.
 */
#ifndef HM_MIGRATOR_MOVE_ZONES_H
#define HM_MIGRATOR_MOVE_ZONES_H

#include <stdbool.h>
#include <stdint.h>

/* A zone of /proc/zoneinfo. In pages. */
struct hm_zone {
    int node; /* -1: no zone has begun yet */
    uint64_t free, low, high;
    uint64_t protection; /* on top of the watermarks, for pages that may be in any zone */
};

/* Part of what is free, in bytes. */
struct hm_watermarks {
    uint64_t low_bytes, high_bytes;
};

/*
 * Takes the next line of /proc/zoneinfo. Returns true if the zone is whole with this line ("protection: (...)").
 * Begin with .node = -1. A value that is no number is 0, and one above 2^44 counts as that. Pure.
 */
bool hm_zone_take(struct hm_zone *zone, const char *line);
/* Adds what is kept of the zone's free memory to those of its node. Pure. */
void hm_zone_add(const struct hm_zone *zone, struct hm_watermarks *marks);
/* Has the zone, which is one for users' pages, less free than its high watermark? Then what was added for it is not
 * this watermark, and grows when memory becomes free. Pure. */
bool hm_zone_is_short(const struct hm_zone *zone);

#endif
