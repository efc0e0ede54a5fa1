/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <string.h>

static const char *const words[HM_MEMMODES] = {
    [HM_MEMMODE_NONE] = "none",   [HM_MEMMODE_FLAT] = "flat",   [HM_MEMMODE_CACHE] = "cache",
    [HM_MEMMODE_MIXED] = "mixed", [HM_MEMMODE_OTHER] = "other", [HM_MEMMODE_HALF] = "incomplete",
};

const char *hm_memmode_word(enum hm_memmode mode)
{
    return words[mode];
}

enum hm_memmode hm_memmode_find(const char *word)
{
    for (enum hm_memmode mode = HM_MEMMODE_FLAT; mode <= HM_MEMMODE_MIXED; mode++)
        if (strcmp(word, words[mode]) == 0)
            return mode;
    return HM_MEMMODE_NONE;
}

int hm_memmode_parse(const char *feature, enum hm_memmode *mode, struct hm_error *error)
{
    size_t begin = strlen(HM_MEMMODE_FEATURE);
    bool has_begin = strncmp(feature, HM_MEMMODE_FEATURE, begin) == 0;
    *mode = has_begin ? hm_memmode_find(feature + begin) : HM_MEMMODE_NONE;
    if (*mode != HM_MEMMODE_NONE)
        return 0;
    return hm_fail(error, EINVAL, "\"%.64s\" is not a feature: use memmode=flat, memmode=cache or memmode=mixed",
                   feature);
}

/* The mode by what the modules are used for. */
static enum hm_memmode mode_of(const struct hm_memmode_resources *resources)
{
    if (resources->physical == 0)
        return HM_MEMMODE_NONE;
    if (resources->memory == 0)
        return HM_MEMMODE_FLAT;
    return resources->app_direct > 0 ? HM_MEMMODE_MIXED : HM_MEMMODE_CACHE;
}

enum hm_memmode hm_memmode_now(const struct hm_memmode_state *state)
{
    return state->by == HM_MEMMODE_BY_BIOS ? state->bios.now : mode_of(&state->resources);
}

enum hm_memmode hm_memmode_used(const struct hm_memmode_state *state)
{
    const struct hm_memmode_resources *resources = &state->resources;
    /* Where a part is App Direct, and the rest not in use, the node is flat: a goal for the rest would end the
     * namespaces of that part. */
    if (state->by == HM_MEMMODE_BY_GOALS && resources->memory == 0 && resources->app_direct == 0)
        return HM_MEMMODE_NONE;
    return hm_memmode_now(state);
}

enum hm_memmode hm_memmode_pending(const struct hm_memmode_state *state)
{
    const struct hm_memmode_goal *goal = &state->goal;
    unsigned modules = state->modules.n;
    if (state->by == HM_MEMMODE_BY_BIOS)
        return state->bios.pending;
    if (goal->n_flat + goal->n_cache + goal->n_mixed + goal->n_empty == 0)
        return HM_MEMMODE_NONE;
    if (goal->n_flat == modules)
        return HM_MEMMODE_FLAT;
    if (goal->n_cache == modules)
        return HM_MEMMODE_CACHE;
    return goal->n_mixed == modules ? HM_MEMMODE_MIXED : HM_MEMMODE_HALF;
}

const char *hm_memmode_way_back(enum hm_memmode_by by)
{
    return by == HM_MEMMODE_BY_BIOS ? "set the attribute back in the BIOS set-up"
                                    : "delete the goal with 'ipmctl delete -goal'";
}

int hm_memmode_check_pending(const struct hm_memmode_state *state, enum hm_memmode wanted, struct hm_error *error)
{
    enum hm_memmode pending = hm_memmode_pending(state);
    const struct hm_memmode_goal *goal = &state->goal;
    if (pending == wanted)
        return 0;
    if (state->by == HM_MEMMODE_BY_BIOS)
        return hm_fail(error, EIO,
                       "read back, the pending goal is %s, not %s (BIOS attribute %s: now \"%s\", next \"%s\")",
                       words[pending], words[wanted], state->bios.attribute, state->bios.value, state->bios.next);
    return hm_fail(error, EIO, "read back, the pending goal is %s, not %s (flat %u, cache %u, mixed %u of %u modules)",
                   words[pending], words[wanted], goal->n_flat, goal->n_cache, goal->n_mixed, state->modules.n);
}
