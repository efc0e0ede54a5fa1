/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the time in which packers reckon: those of the series, cut where items begin and end, so that items of
 * which one begins when the other has ended have no part in common. Pure. */
#ifndef HM_SITES_PACK_PARTS_H
#define HM_SITES_PACK_PARTS_H

#include "pack.h"

#define HM_PACK_CUT 256 /* most parts */

struct hm_pack_parts {
    int n;                           /* 1, where nothing is known of the time */
    double border[HM_PACK_CUT + 1];  /* part i is from border i to the next; ascending */
    double length[HM_PACK_CUT];      /* in parts of a series */
    unsigned char cell[HM_PACK_CUT]; /* the part of a series that it is in */
};

/* Parts from the first to the one before `end`. */
struct hm_pack_range {
    int first, end;
};

/*
 * Cuts the parts of a series at the spans of those of the `n` items whose time is known, those of the most bytes first
 * where there is not enough room. Where no item's is, there is one part. Returns 0, or -1 (ENOMEM).
 */
int hm_pack_parts_cut(struct hm_pack_parts *parts, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                      const bool *is_known, size_t n);
/* The parts that are in the span at least in part; all, where it is not known. */
struct hm_pack_range hm_pack_parts_in(const struct hm_pack_parts *parts, struct hm_pack_span span);

#endif
