/* SPDX-License-Identifier: Apache-2.0 */
#include "boot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "decide.h"

#define MOST_FEATURE 64 /* bytes; longer ones are cut, and are then none that has a mode's name */

/* Read one word of the list, of `length` bytes. Returns 0, or -1. */
static int take_word(const char *begin, size_t length, enum hm_memmode *asked, struct hm_error *error)
{
    char word[MOST_FEATURE];
    enum hm_memmode mode;
    const char *name = strstr(begin, HM_MEMMODE_FEATURE);
    if (!name || name >= begin + length)
        return 0;
    snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word) - 1), begin);
    if (hm_memmode_parse(word, &mode, error) != 0)
        return -1;
    if (*asked != HM_MEMMODE_NONE && *asked != mode)
        return hm_fail(error, EINVAL, "the features name memmode=%s and memmode=%s: a node has one mode",
                       hm_memmode_word(*asked), hm_memmode_word(mode));
    *asked = mode;
    return 0;
}

int hm_memmode_parse_list(const char *features, enum hm_memmode *asked, struct hm_error *error)
{
    *asked = HM_MEMMODE_NONE;
    for (const char *at = features;; at++) {
        size_t length = strcspn(at, ",");
        if (take_word(at, length, asked, error) != 0)
            return -1;
        at += length;
        if (!*at)
            return 0;
    }
}

int hm_memmode_may_boot(const struct hm_memmode_state *state, enum hm_memmode asked, struct hm_error *error)
{
    const struct hm_memmode_goal *goal = &state->goal;
    enum hm_memmode pending = hm_memmode_pending(state);
    bool is_there = asked == HM_MEMMODE_NONE || hm_memmode_used(state) == asked;
    if (pending == HM_MEMMODE_HALF)
        return hm_fail(error, EIO,
                       "the pending goal is incomplete (flat %u, cache %u, mixed %u of %u modules): %s, or set it anew",
                       goal->n_flat, goal->n_cache, goal->n_mixed, state->modules.n, hm_memmode_way_back(state->by));
    if (pending == HM_MEMMODE_NONE && is_there)
        return 0;
    if (asked != HM_MEMMODE_NONE && pending != asked)
        return hm_fail(error, EIO,
                       "memmode=%s was asked for, and the pending goal is %s: set it with "
                       "'hybridmem-memmode memmode=%s'",
                       hm_memmode_word(asked), hm_memmode_word(pending), hm_memmode_word(asked));
    return hm_memmode_loses_nothing(state, true, error);
}

int hm_memmode_has_come(const struct hm_memmode_state *state, enum hm_memmode asked, struct hm_error *error)
{
    enum hm_memmode used = hm_memmode_used(state);
    const struct hm_memmode_resources *resources = &state->resources;
    char size[3][24], detail[160];
    if (used == asked)
        return 0;
    if (state->by == HM_MEMMODE_BY_BIOS)
        snprintf(detail, sizeof(detail), "BIOS attribute %s is \"%s\"", state->bios.attribute, state->bios.value);
    else
        snprintf(detail, sizeof(detail), "of %s of PMem modules, %s are memory, %s App Direct",
                 hm_size_format(resources->physical, size[0], sizeof(size[0])),
                 hm_size_format(resources->memory, size[1], sizeof(size[1])),
                 hm_size_format(resources->app_direct, size[2], sizeof(size[2])));
    return hm_fail(error, EIO, "memmode=%s was asked for before the boot, and the node came back %s%s (%s)",
                   hm_memmode_word(asked), used == HM_MEMMODE_NONE ? "with no module in use" : HM_MEMMODE_FEATURE,
                   used == HM_MEMMODE_NONE ? "" : hm_memmode_word(used), detail);
}
