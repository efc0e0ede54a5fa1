/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hm_packer packers[] = {
    {"gain", "the most gain by tier, time and bandwidth; never less than by the packers below", true, true,
     hm_pack_gain},
    {"thermos", "hottest first; one that finds no room only where it is worth more than what it may displace", true,
     false, hm_pack_thermos},
    {"hotset", "hottest first, until the capacity is just exceeded", true, false, hm_pack_hotset},
    {"knapsack", "the most accesses within the capacity", false, false, hm_pack_knapsack},
};
#define N_PACKERS (sizeof(packers) / sizeof(packers[0]))

const struct hm_packer *hm_packer_at(size_t i)
{
    return i < N_PACKERS ? &packers[i] : NULL;
}

char *hm_packer_names(char out[HM_PACK_NAMES])
{
    size_t used = 0;
    for (size_t i = 0; i < N_PACKERS; i++)
        used += (size_t)snprintf(out + used, HM_PACK_NAMES - used, "%s%s",
                                 i == 0               ? ""
                                 : i == N_PACKERS - 1 ? " or "
                                                      : ", ",
                                 packers[i].name);
    return out;
}

const struct hm_packer *hm_packer_find(const char *name, struct hm_error *error)
{
    char names[HM_PACK_NAMES];
    for (size_t i = 0; i < N_PACKERS; i++)
        if (strcmp(name, packers[i].name) == 0)
            return &packers[i];
    hm_fail(error, EINVAL, "\"%.40s\" is no packer: use %s", name, hm_packer_names(names));
    return NULL;
}

struct key {
    double density; /* value per byte */
    size_t at;
};

static int compare(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->density != right->density)
        return left->density > right->density ? -1 : 1;
    return (left->at > right->at) - (left->at < right->at);
}

size_t *hm_pack_order(const double *density, size_t n, size_t *n_used)
{
    struct key *keys = malloc((n + 1) * sizeof(*keys));
    size_t *order = malloc((n + 1) * sizeof(*order)), used = 0;
    if (!keys || !order) {
        free(keys);
        free(order);
        errno = ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (density[i] > 0)
            keys[used++] = (struct key){density[i], i};
    qsort(keys, used, sizeof(*keys), compare);
    for (size_t i = 0; i < used; i++)
        order[i] = keys[i].at;
    free(keys);
    *n_used = used;
    return order;
}

size_t *hm_pack_sort(const struct hm_pack_item *item, size_t n, size_t *n_used)
{
    double *density = calloc(n + 1, sizeof(*density));
    for (size_t i = 0; density && i < n; i++)
        if (item[i].value > 0 && item[i].bytes > 0)
            density[i] = item[i].value / (double)item[i].bytes;
    size_t *order = density ? hm_pack_order(density, n, n_used) : NULL;
    free(density);
    errno = order ? errno : ENOMEM;
    return order;
}

double hm_pack_hottest(const struct hm_pack_item *item, const size_t *order, size_t n, const bool *is_fast,
                       uint64_t bytes)
{
    double value = 0;
    for (size_t i = 0; i < n && bytes > 0; i++) {
        const struct hm_pack_item *one = &item[order[i]];
        if (is_fast && !is_fast[order[i]])
            continue;
        if (one->bytes > bytes)
            return value + one->value * ((double)bytes / (double)one->bytes);
        value += one->value;
        bytes -= one->bytes;
    }
    return value;
}

int hm_pack_into(const struct hm_packer *packer, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                 size_t n, struct hm_pack_result *result)
{
    *result = (struct hm_pack_result){.is_fast = result->is_fast};
    memset(result->is_fast, 0, n * sizeof(*result->is_fast));
    if (packer->pack(scene, item, n, result) < 0)
        return -1;
    return hm_pack_measure(scene, item, n, result);
}

int hm_pack(const struct hm_packer *packer, const struct hm_pack_item *item, size_t n, uint64_t capacity,
            struct hm_pack_result *result)
{
    const struct hm_pack_scene scene = {.capacity = capacity};
    return hm_pack_into(packer, &scene, item, n, result);
}
