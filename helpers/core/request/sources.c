/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"

#include <stddef.h>
#include <string.h>

static const struct hm_sampling_row rows[] = {
#define HM_SOURCE(word, ...) {.name = #word, __VA_ARGS__},
#include "core/request/sources.def"
};
#define N_ROWS (int)(sizeof(rows) / sizeof(rows[0]))

#define HM_SOURCE(word, ...) _Static_assert(sizeof(#word) <= HM_SOURCE_NAME, "its name is longer than HM_SOURCE_NAME");
#include "core/request/sources.def"

const struct hm_sampling_row *hm_sampling_at(int n)
{
    return n >= 0 && n < N_ROWS ? &rows[n] : NULL;
}

static const struct hm_sampling_row *find(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

bool hm_sampling_is_word(const char *word)
{
    return strcmp(word, HM_SOURCE_AUTO) == 0 || find(word);
}

bool hm_sampling_has(const char *name, unsigned has)
{
    const struct hm_sampling_row *row = find(name);
    return row && row->has & has;
}

bool hm_sampling_may_have(const char *name, unsigned has)
{
    if (strcmp(name, HM_SOURCE_AUTO) != 0)
        return hm_sampling_has(name, has);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].has & has)
            return true;
    return false;
}
