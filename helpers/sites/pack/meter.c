/* SPDX-License-Identifier: Apache-2.0 */
#include "meter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"

#define ROUNDED 1e-12 /* of a sum: less is what rounding has left of it */

static bool may_be_taken(const struct hm_pack_item *item)
{
    return item->value > 0 && item->bytes > 0;
}

/* Does the scene say when there are how many bytes of the item? */
static bool has_series(const struct hm_pack_scene *scene, size_t at)
{
    for (int part = 0; scene->series && scene->series[at] && part < HM_PACK_PARTS; part++)
        if (scene->series[at][part] > 0)
            return true;
    return false;
}

static bool is_limited(const struct hm_pack_meter *meter, size_t at)
{
    return meter->limit_bytes > 0 && at == meter->limited;
}

uint64_t hm_pack_bytes_in(const struct hm_pack_meter *meter, size_t at, int part)
{
    if (part < meter->range[at].first || part >= meter->range[at].end)
        return 0;
    uint64_t bytes = meter->is_known[at] ? meter->scene->series[at][meter->parts.cell[part]] : meter->item[at].bytes;
    return is_limited(meter, at) ? hm_least(bytes, meter->limit_bytes) : bytes;
}

/* An item's bytes, each times how long it is there. */
static double bytes_over_time(const struct hm_pack_meter *meter, size_t at)
{
    double bytes = 0;
    for (int part = meter->range[at].first; part < meter->range[at].end; part++)
        bytes += (double)hm_pack_bytes_in(meter, at, part) * meter->parts.length[part];
    return bytes;
}

double hm_pack_value(const struct hm_pack_meter *meter, size_t at)
{
    return is_limited(meter, at) ? meter->density[at] * bytes_over_time(meter, at) : meter->item[at].value;
}

/* Sets when an item can have bytes, and its density. A span in which its series has none tells nothing. */
static void set_time(struct hm_pack_meter *meter, size_t at)
{
    if (meter->is_known[at] && meter->scene->span)
        meter->range[at] = hm_pack_parts_in(&meter->parts, meter->scene->span[at]);
    double bytes = bytes_over_time(meter, at);
    if (!(bytes > 0)) {
        meter->range[at] = (struct hm_pack_range){0, meter->parts.n};
        bytes = bytes_over_time(meter, at);
    }
    meter->density[at] = meter->item[at].value / bytes;
}

static size_t *order_by_start(const struct hm_pack_meter *meter, size_t n)
{
    double *key = calloc(n + 1, sizeof(*key));
    size_t n_used = 0, *order = NULL;
    for (size_t i = 0; key && i < n; i++)
        key[i] = meter->density[i] > 0 ? HM_PACK_CUT + 1 - meter->range[i].first : 0;
    if (key)
        order = hm_pack_order(key, n, &n_used);
    free(key);
    errno = order ? errno : ENOMEM;
    return order;
}

int hm_pack_meter_open(struct hm_pack_meter *meter, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                       size_t n)
{
    *meter = (struct hm_pack_meter){.scene = scene, .item = item};
    meter->density = calloc(n + 1, sizeof(*meter->density));
    meter->is_known = calloc(n + 1, sizeof(*meter->is_known));
    meter->held = calloc(n + 1, sizeof(*meter->held));
    meter->range = calloc(n + 1, sizeof(*meter->range));
    meter->present = calloc(n + 1, sizeof(*meter->present));
    if (!meter->density || !meter->is_known || !meter->held || !meter->range || !meter->present) {
        errno = ENOMEM;
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        meter->is_known[i] = may_be_taken(&item[i]) && has_series(scene, i);
    if (hm_pack_parts_cut(&meter->parts, scene, item, meter->is_known, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        meter->range[i].end = meter->parts.n;
    for (size_t i = 0; i < n; i++)
        if (may_be_taken(&item[i]))
            set_time(meter, i);
    meter->order = hm_pack_order(meter->density, n, &meter->n_used);
    meter->by_start = meter->order ? order_by_start(meter, n) : NULL;
    return meter->by_start ? 0 : -1;
}

void hm_pack_meter_close(struct hm_pack_meter *meter)
{
    free(meter->order);
    free(meter->by_start);
    free(meter->density);
    free(meter->is_known);
    free(meter->held);
    free(meter->range);
    free(meter->present);
}

uint64_t hm_pack_most(const struct hm_pack_meter *meter, const struct hm_pack_sum *sum)
{
    uint64_t most = 0;
    for (int part = 0; part < meter->parts.n; part++)
        most = hm_most(most, sum->bytes[part]);
    return most;
}

void hm_pack_add(const struct hm_pack_meter *meter, struct hm_pack_sum *sum, size_t at)
{
    for (int part = meter->range[at].first; part < meter->range[at].end; part++)
        sum->bytes[part] += hm_pack_bytes_in(meter, at, part);
    sum->n_looks += (uint64_t)(meter->range[at].end - meter->range[at].first);
    sum->value += hm_pack_value(meter, at);
}

void hm_pack_take_away(const struct hm_pack_meter *meter, struct hm_pack_sum *sum, size_t at)
{
    for (int part = meter->range[at].first; part < meter->range[at].end; part++)
        sum->bytes[part] -= hm_pack_bytes_in(meter, at, part);
    sum->n_looks -= (uint64_t)(meter->range[at].end - meter->range[at].first);
    sum->value -= hm_pack_value(meter, at);
}

/* The value of the hottest `bytes` bytes that there are in a part, of a choice (NULL: of all). */
static double hottest_in(const struct hm_pack_meter *meter, int part, const bool *is_fast, uint64_t bytes)
{
    double value = 0;
    for (size_t i = 0; i < meter->n_used && bytes > 0; i++) {
        size_t at = meter->order[i];
        if (is_fast && !is_fast[at])
            continue;
        uint64_t of_it = hm_least(hm_pack_bytes_in(meter, at, part), bytes);
        value += meter->density[at] * (double)of_it;
        bytes -= of_it;
    }
    return value * meter->parts.length[part];
}

static uint64_t bytes_before(const struct hm_pack_meter *meter, size_t at, int part)
{
    return part > 0 ? hm_pack_bytes_in(meter, at, part - 1) : 0;
}

/* What is left of the bytes that an item had in the fast tier in the part before: if it has fewer bytes now, as many of
 * each tier went. */
static double stays(const struct hm_pack_meter *meter, size_t at, int part)
{
    uint64_t now = hm_pack_bytes_in(meter, at, part), before = bytes_before(meter, at, part);
    return now < before ? meter->held[at] * ((double)now / (double)before) : meter->held[at];
}

/* Bytes of an item that come in a part. */
static double coming(const struct hm_pack_meter *meter, size_t at, int part)
{
    return (double)hm_less(hm_pack_bytes_in(meter, at, part), bytes_before(meter, at, part));
}

/* The value of a part, where meter->held has what the first `n` items that are present have in the fast tier in the
 * part before, and then has what they have in this one. */
static double kept_in(const struct hm_pack_meter *meter, int part, size_t n)
{
    double left = (double)meter->scene->capacity, more = 0, value = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = meter->present[i];
        meter->held[at] = stays(meter, at, part);
        left -= meter->held[at];
        more += coming(meter, at, part);
    }
    left = fmax(left, 0); /* sums are rounded */
    double share = more > left ? left / more : 1;
    for (size_t i = 0; i < n; i++) {
        size_t at = meter->present[i];
        meter->held[at] += share * coming(meter, at, part);
        value += meter->density[at] * meter->held[at];
    }
    return value * meter->parts.length[part];
}

/* The value of all parts. Items come and go. */
static double kept_over_time(const struct hm_pack_meter *meter, const bool *is_fast)
{
    size_t n = 0, next = 0;
    double value = 0;
    for (int part = 0; part < meter->parts.n; part++) {
        size_t n_before = n;
        n = 0;
        for (size_t i = 0; i < n_before; i++)
            if (meter->range[meter->present[i]].end > part)
                meter->present[n++] = meter->present[i];
        for (; next < meter->n_used && meter->range[meter->by_start[next]].first <= part; next++)
            if (is_fast[meter->by_start[next]]) {
                meter->held[meter->by_start[next]] = 0;
                meter->present[n++] = meter->by_start[next];
            }
        value += kept_in(meter, part, n);
    }
    return value;
}

double hm_pack_kept(const struct hm_pack_meter *meter, const struct hm_pack_sum *sum, const bool *is_fast)
{
    uint64_t most = hm_pack_most(meter, sum);
    if (most <= meter->scene->capacity)
        return sum->value;
    double kept = meter->parts.n > 1 ? kept_over_time(meter, is_fast)
                                     : sum->value - hottest_in(meter, 0, is_fast, most - meter->scene->capacity);
    return kept > sum->value * ROUNDED ? kept : 0;
}

double hm_pack_score(const struct hm_pack_scene *scene, double kept)
{
    if (!(scene->fast_mbs > 0) || !(scene->slow_mbs > 0) || !(scene->accesses > 0))
        return kept;
    double share = kept / scene->accesses;
    return hm_spill_bandwidth(HM_CHANNELS_SEPARATE, scene->fast_mbs, scene->slow_mbs, share < 1 ? share : 1);
}

int hm_pack_measure(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                    struct hm_pack_result *result)
{
    struct hm_pack_meter meter;
    struct hm_pack_sum sum = {.value = 0};
    int status = hm_pack_meter_open(&meter, scene, item, n);
    result->bound = 0;
    for (int part = 0; part < meter.parts.n && status == 0; part++)
        result->bound += hottest_in(&meter, part, NULL, scene->capacity); /* Dantzig's: as if items could be cut */
    meter.limited = result->limited;
    meter.limit_bytes = result->limit_bytes;
    for (size_t i = 0; i < meter.n_used && status == 0; i++)
        if (result->is_fast[meter.order[i]])
            hm_pack_add(&meter, &sum, meter.order[i]);
    if (status == 0) {
        result->bytes = hm_pack_most(&meter, &sum);
        result->value = sum.value;
        result->kept = hm_pack_kept(&meter, &sum, result->is_fast);
        result->score = hm_pack_score(scene, result->kept);
        /* A packer that knows nothing of the time has not tried all choices that fit. */
        result->is_exact = result->is_exact && meter.parts.n == 1 && result->limit_bytes == 0;
    }
    hm_pack_meter_close(&meter);
    return status;
}
