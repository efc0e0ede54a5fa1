/* SPDX-License-Identifier: Apache-2.0 */
/* Random items for tests of the packers, and what packers choose of them. */
#ifndef HM_PACKMODEL_H
#define HM_PACKMODEL_H

#include "base/random.h"
#include "sites/pack/meter.h"

#define MOST 64
#define ROUNDS 200

struct world {
    struct hm_pack_item item[MOST];
    uint64_t series[MOST][HM_PACK_PARTS];
    const uint64_t *series_of[MOST];
    struct hm_pack_span span[MOST];
    struct hm_pack_scene scene;
    size_t n;
};

/* Chooses of these items. */
struct hm_pack_result pack(const char *name, const struct hm_pack_item *item, size_t n, uint64_t capacity,
                           bool *is_fast);
/* Sites whose sizes and values differ by orders of magnitude; some have neither. */
size_t make_items(struct hm_random *random, struct hm_pack_item item[MOST], size_t most, uint64_t *sum);
/* Items that live for a while, grow or shrink, or whose time is not known, or not more than by parts of a series; and a
 * scene that may have bandwidths. */
void make_world(struct hm_random *random, size_t most, struct world *world);
struct hm_pack_result pack_world(const char *name, const struct world *world, bool *is_fast);

#endif
