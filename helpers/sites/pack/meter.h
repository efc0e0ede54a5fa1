/* SPDX-License-Identifier: Apache-2.0 */
/* What a choice of items gives: by part of the time, where it is known when there is how much of each. Pure. */
#ifndef HM_SITES_PACK_METER_H
#define HM_SITES_PACK_METER_H

#include "parts.h"

#define HM_PACK_BETTER (1 + 1e-9) /* sums are rounded: a gain that is smaller is none */

struct hm_pack_meter {
    const struct hm_pack_scene *scene;
    const struct hm_pack_item *item;
    struct hm_pack_parts parts;
    struct hm_pack_range *range; /* by item: the parts that it can have bytes in */
    size_t n_used;
    size_t *order;    /* items that may be taken, by their density, the hottest first */
    size_t *by_start; /* the same items, by their first part */
    double *density;  /* by item: value per byte and length of time, that of a series' part */
    bool *is_known;   /* by item: its series counts */
    double *held;     /* by item: bytes in the fast tier in a part, for hm_pack_kept */
    size_t *present;  /* items of a choice that are there in a part, for hm_pack_kept */
    size_t limited;   /* of this item only limit_bytes count at a time; where these are 0, no item is limited */
    uint64_t limit_bytes;
};

/* What a choice has, in each part. */
struct hm_pack_sum {
    uint64_t bytes[HM_PACK_CUT];
    uint64_t n_looks; /* items, each as often as there are parts in its range: what hm_pack_kept has to look at */
    double value;     /* of all parts, whether there is room or not */
};

/* Returns 0, or -1 (ENOMEM). To be closed in both cases. `scene` and `item` have to stay. */
int hm_pack_meter_open(struct hm_pack_meter *meter, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                       size_t n);
void hm_pack_meter_close(struct hm_pack_meter *meter);

/* The bytes of an item in a part, where it is taken. */
uint64_t hm_pack_bytes_in(const struct hm_pack_meter *meter, size_t at, int part);
/* What an item is worth, where it is taken and finds room. */
double hm_pack_value(const struct hm_pack_meter *meter, size_t at);
/* Most bytes that a choice has in a part. */
uint64_t hm_pack_most(const struct hm_pack_meter *meter, const struct hm_pack_sum *sum);
/* Adds an item to the sum, or takes it away. */
void hm_pack_add(const struct hm_pack_meter *meter, struct hm_pack_sum *sum, size_t at);
void hm_pack_take_away(const struct hm_pack_meter *meter, struct hm_pack_sum *sum, size_t at);

/* What the fast tier serves of the choice whose sum this is, as hm_pack_result.kept has it. */
double hm_pack_kept(const struct hm_pack_meter *meter, const struct hm_pack_sum *sum, const bool *is_fast);
/*
 * Gives an item of a choice, or of the densest items, a limit, so that it has no more than the others leave free at any
 * time: whose allocations come first would else have the room of all that come later. Does nothing where that gains
 * nothing, or the scene has no such items. `sum` and `score` are those of the choice, which is result->is_fast, of `n`
 * items; sets `limited` and `limit_bytes`. `scratch` has room for `n`.
 */
void hm_pack_limit(struct hm_pack_meter *meter, const struct hm_pack_sum *sum, double score, size_t n, bool *scratch,
                   struct hm_pack_result *result);

/* What counts: see hm_pack_result.score. */
double hm_pack_score(const struct hm_pack_scene *scene, double kept);

#endif
