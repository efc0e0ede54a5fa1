/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <string.h>

static const char *const words[HM_MEMMODES] = {
    [HM_MEMMODE_NONE] = "none",   [HM_MEMMODE_FLAT] = "flat",       [HM_MEMMODE_CACHE] = "cache",
    [HM_MEMMODE_MIXED] = "mixed", [HM_MEMMODE_HALF] = "incomplete",
};

const char *hm_memmode_word(enum hm_memmode mode)
{
    return words[mode];
}

int hm_memmode_parse(const char *feature, enum hm_memmode *mode, struct hm_error *error)
{
    size_t begin = strlen(HM_MEMMODE_FEATURE);
    bool has_begin = strncmp(feature, HM_MEMMODE_FEATURE, begin) == 0;
    if (has_begin && strcmp(feature + begin, words[HM_MEMMODE_MIXED]) == 0)
        return hm_fail(error, EINVAL,
                       "\"%s\" is only shown: a node is asked for memmode=flat or memmode=cache, and an administrator "
                       "makes a mixed one with ipmctl",
                       feature);
    for (*mode = HM_MEMMODE_FLAT; has_begin && *mode <= HM_MEMMODE_CACHE; (*mode)++)
        if (strcmp(feature + begin, words[*mode]) == 0)
            return 0;
    return hm_fail(error, EINVAL, "\"%.64s\" is not a feature: use memmode=flat or memmode=cache", feature);
}

enum hm_memmode hm_memmode_now(const struct hm_memmode_resources *resources)
{
    if (resources->physical == 0)
        return HM_MEMMODE_NONE;
    if (resources->memory == 0)
        return HM_MEMMODE_FLAT;
    return resources->app_direct > 0 ? HM_MEMMODE_MIXED : HM_MEMMODE_CACHE;
}

enum hm_memmode hm_memmode_used(const struct hm_memmode_resources *resources)
{
    /* Where a part is App Direct, and the rest not in use, the node is flat: a goal for the rest would end the
     * namespaces of that part. */
    return resources->memory > 0 || resources->app_direct > 0 ? hm_memmode_now(resources) : HM_MEMMODE_NONE;
}

enum hm_memmode hm_memmode_pending(const struct hm_memmode_goal *goal, unsigned modules)
{
    if (goal->n_flat + goal->n_cache + goal->n_mixed + goal->n_empty == 0)
        return HM_MEMMODE_NONE;
    if (goal->n_flat == modules)
        return HM_MEMMODE_FLAT;
    if (goal->n_cache == modules)
        return HM_MEMMODE_CACHE;
    return goal->n_mixed == modules ? HM_MEMMODE_MIXED : HM_MEMMODE_HALF;
}
