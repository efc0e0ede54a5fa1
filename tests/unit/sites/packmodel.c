/* SPDX-License-Identifier: Apache-2.0 */
#include "packmodel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct hm_pack_result pack(const char *name, const struct hm_pack_item *item, size_t n, uint64_t capacity,
                           bool *is_fast)
{
    struct hm_pack_result result = {.is_fast = is_fast};
    struct hm_error error = {""};
    const struct hm_packer *packer = hm_packer_find(name, &error);
    assert_non_null(packer);
    assert_int_equal(hm_pack(packer, item, n, capacity, &result), 0);
    return result;
}

size_t make_items(struct hm_random *random, struct hm_pack_item item[MOST], size_t most, uint64_t *sum)
{
    size_t n = 1 + hm_random_next(random) % most;
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        item[i].bytes = hm_random_next(random) % 8 == 0 ? 0 : (uint64_t)exp(20 * hm_random_share(random));
        item[i].value = hm_random_next(random) % 8 == 0 ? 0 : floor(exp(10 * hm_random_share(random)));
        *sum += item[i].bytes;
    }
    return n;
}

void make_world(struct hm_random *random, size_t most, struct world *world)
{
    uint64_t sum;
    *world = (struct world){.n = make_items(random, world->item, most, &sum)};
    sum = 0;
    double accesses = 0;
    for (size_t i = 0; i < world->n; i++) {
        struct hm_pack_item *item = &world->item[i];
        item->bytes = hm_random_next(random) % 16 == 0 ? 0 : 1 + hm_random_next(random) % 1000;
        item->value = hm_random_next(random) % 16 == 0 ? 0 : (double)(1 + hm_random_next(random) % 100000);
        int first = (int)(hm_random_next(random) % HM_PACK_PARTS);
        int end = first + 1 + (int)(hm_random_next(random) % (uint64_t)(HM_PACK_PARTS - first));
        for (int part = first; part < end; part++)
            world->series[i][part] = item->bytes - hm_random_next(random) % 2 * (item->bytes / 3);
        if (hm_random_next(random) % 2 == 0) {
            /* begins in its first part and ends in its last one; some say what their series does not have */
            double from = first + hm_random_share(random), to = end - hm_random_share(random);
            int moved = hm_random_next(random) % 16 == 0 ? (end < HM_PACK_PARTS ? end : -first) : 0;
            world->span[i] =
                (struct hm_pack_span){(from + moved) / HM_PACK_PARTS, fmin((to + moved) / HM_PACK_PARTS, 1)};
        }
        world->series_of[i] = hm_random_next(random) % 8 == 0 ? NULL : world->series[i];
        sum += item->bytes;
        accesses += item->value;
    }
    world->scene.series = world->series_of;
    world->scene.span = world->span;
    world->scene.capacity = (uint64_t)(hm_random_share(random) * 0.8 * (double)sum);
    if (hm_random_next(random) % 3 > 0)
        return;
    world->scene.fast_mbs = 100000 + 400000 * hm_random_share(random);
    world->scene.slow_mbs = 100000;
    world->scene.accesses = accesses * (1 + hm_random_share(random) / 10);
}

struct hm_pack_result pack_world(const char *name, const struct world *world, bool *is_fast)
{
    struct hm_pack_result result = {.is_fast = is_fast};
    assert_int_equal(hm_pack_into(hm_packer_find(name, NULL), &world->scene, world->item, world->n, &result), 0);
    return result;
}
