/* SPDX-License-Identifier: Apache-2.0 */
#include "modes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct hm_mode_row rows[HM_MODES] = {
#define HM_MODE(id, word, planner, ...) [HM_MODE_##id] = {.name = #word, __VA_ARGS__},
#include "core/request/modes.def"
};
_Static_assert(HM_MODES <= 32, "the configuration has a bit of an unsigned for each mode");

const struct hm_mode_row *hm_mode_at(int mode)
{
    return mode >= 0 && mode < HM_MODES ? &rows[mode] : NULL;
}

int hm_mode_find(const char *name, size_t length)
{
    for (int i = 0; i < HM_MODES; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return i;
    return -1;
}

const char *hm_mode_want_name(unsigned want)
{
    static const struct {
        unsigned want;
        const char *name;
    } names[] = {
        {HM_WANTS_PLACEMENT, "placement"},   {HM_WANTS_BOTH_TIERS, "both-tiers"}, {HM_WANTS_SLOW_RAM, "slow-ram"},
        {HM_WANTS_MIGRATOR, "migrator"},     {HM_WANTS_PRELOAD, "preload"},       {HM_WANTS_NAMESPACES, "namespaces"},
        {HM_WANTS_SIDE_CACHE, "side-cache"}, {HM_WANTS_GUIDE, "guide"},           {HM_WANTS_PROFILE, "profile"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].want == want)
            return names[i].name;
    return NULL;
}

char *hm_modes_list(unsigned modes, const char *last, char *out, size_t size)
{
    size_t used = 0;
    uint64_t known = modes & (((uint64_t)1 << HM_MODES) - 1);
    out[0] = '\0';
    for (int i = 0; i < HM_MODES && used < size; i++) {
        bool is_last = known >> i == 1;
        if (known >> i & 1)
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used == 0 ? ""
                                     : is_last ? last
                                               : ", ",
                                     rows[i].name);
    }
    return out;
}
