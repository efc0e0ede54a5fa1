/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One item with a limit, so that it has what others leave. Where the time is not known, the densest items with the next
 * one cut are the best choice that there is (Dantzig, Discrete-Variable Extremum Problems, 1957). Where it is known,
 * another choice can be better: the other items of both are tried.
 */
#include <string.h>

#include "base/amount.h"
#include "meter.h"

struct cut {
    size_t at;
    uint64_t bytes; /* 0: no item gains by a limit */
    double score;
};

/* The item that gains most where it has what a choice leaves. */
static struct cut find_cut(struct hm_pack_meter *meter, const struct hm_pack_sum *sum, const bool *is_fast)
{
    struct cut best = {.score = hm_pack_score(meter->scene, sum->value)};
    uint64_t left = hm_less(meter->scene->capacity, hm_pack_most(meter, sum));
    for (size_t i = 0; i < meter->n_used && left > 0; i++) {
        size_t at = meter->order[i];
        if (is_fast[at] || !meter->scene->is_limitable[at])
            continue;
        meter->limited = at;
        meter->limit_bytes = left;
        double score = hm_pack_score(meter->scene, sum->value + hm_pack_value(meter, at));
        if (score > best.score)
            best = (struct cut){at, left, score};
    }
    meter->limit_bytes = 0;
    return best;
}

static bool has_room(const struct hm_pack_meter *meter, const struct hm_pack_sum *sum, size_t at)
{
    for (int part = 0; part < meter->parts.n; part++)
        if (hm_pack_bytes_in(meter, at, part) > hm_less(meter->scene->capacity, sum->bytes[part]))
            return false;
    return true;
}

/* The densest items that fit, up to the first that does not and can be cut. */
static void take_densest(const struct hm_pack_meter *meter, bool *is_fast, struct hm_pack_sum *sum)
{
    *sum = (struct hm_pack_sum){.value = 0};
    for (size_t i = 0; i < meter->n_used; i++) {
        size_t at = meter->order[i];
        if (has_room(meter, sum, at)) {
            is_fast[at] = true;
            hm_pack_add(meter, sum, at);
        } else if (meter->scene->is_limitable[at]) {
            return;
        }
    }
}

void hm_pack_limit(struct hm_pack_meter *meter, const struct hm_pack_sum *sum, double score, size_t n, bool *scratch,
                   struct hm_pack_result *result)
{
    struct hm_pack_sum dense_sum;
    if (!meter->scene->is_limitable)
        return;
    memset(scratch, 0, n * sizeof(*scratch));
    take_densest(meter, scratch, &dense_sum);
    struct cut cut = find_cut(meter, sum, result->is_fast), dense = find_cut(meter, &dense_sum, scratch);
    bool is_dense = dense.bytes > 0 && (cut.bytes == 0 || dense.score > cut.score);
    if (is_dense)
        cut = dense;
    if (cut.bytes == 0 || !(cut.score > score * HM_PACK_BETTER))
        return;
    if (is_dense)
        memcpy(result->is_fast, scratch, n * sizeof(*scratch));
    result->limited = cut.at;
    result->limit_bytes = cut.bytes;
    result->is_fast[cut.at] = true;
}
