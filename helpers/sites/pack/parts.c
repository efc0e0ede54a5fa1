/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 1e-9 /* of the time: borders that are nearer are one */

static bool is_known_span(struct hm_pack_span span)
{
    return span.from < span.to;
}

static void add_border(struct hm_pack_parts *parts, double border)
{
    int at = parts->n;
    while (at > 0 && parts->border[at] > border)
        at--;
    /* between border `at` and the next */
    bool is_there = border - parts->border[at] < NEAR || at == parts->n || parts->border[at + 1] - border < NEAR;
    if (is_there || parts->n == HM_PACK_CUT)
        return;
    memmove(&parts->border[at + 2], &parts->border[at + 1], (size_t)(parts->n - at) * sizeof(*parts->border));
    parts->border[at + 1] = border;
    parts->n++;
}

/* Adds the spans' borders. Returns 0, or -1. */
static int add_borders(struct hm_pack_parts *parts, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                       const bool *is_known, size_t n)
{
    double *bytes = calloc(n + 1, sizeof(*bytes));
    size_t n_used = 0, *order = NULL;
    for (size_t i = 0; bytes && i < n; i++)
        bytes[i] = is_known[i] && is_known_span(scene->span[i]) ? (double)item[i].bytes : 0;
    if (bytes)
        order = hm_pack_order(bytes, n, &n_used);
    for (size_t i = 0; order && i < n_used; i++) {
        add_border(parts, scene->span[order[i]].from);
        add_border(parts, scene->span[order[i]].to);
    }
    free(bytes);
    free(order);
    errno = order ? errno : ENOMEM;
    return order ? 0 : -1;
}

int hm_pack_parts_cut(struct hm_pack_parts *parts, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                      const bool *is_known, size_t n)
{
    bool is_any_known = false;
    for (size_t i = 0; i < n && !is_any_known; i++)
        is_any_known = is_known[i];
    *parts = (struct hm_pack_parts){.n = 1, .border = {0, 1}, .length = {1}};
    if (!is_any_known)
        return 0;
    parts->n = HM_PACK_PARTS;
    for (int i = 0; i <= HM_PACK_PARTS; i++)
        parts->border[i] = (double)i / HM_PACK_PARTS;
    int status = scene->span ? add_borders(parts, scene, item, is_known, n) : 0;
    for (int part = 0; part < parts->n; part++) {
        parts->length[part] = (parts->border[part + 1] - parts->border[part]) * HM_PACK_PARTS;
        parts->cell[part] = (unsigned char)(parts->border[part] * HM_PACK_PARTS);
    }
    return status;
}

struct hm_pack_range hm_pack_parts_in(const struct hm_pack_parts *parts, struct hm_pack_span span)
{
    struct hm_pack_range range = {0, parts->n};
    if (!is_known_span(span))
        return range;
    while (range.first < range.end && parts->border[range.first + 1] <= span.from)
        range.first++;
    while (range.end > range.first && parts->border[range.end - 1] >= span.to)
        range.end--;
    return range;
}
