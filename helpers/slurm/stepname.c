/* SPDX-License-Identifier: Apache-2.0 */
#include "stepname.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

static const struct {
    uint32_t id;
    const char *name;
} names[] = {{HM_STEP_BATCH, "batch"}, {HM_STEP_EXTERN, "extern"}, {HM_STEP_INTERACTIVE, "interactive"}};

#define N_NAMES (sizeof(names) / sizeof(names[0]))

char *hm_step_name(uint32_t step_id, char *out, size_t size)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (names[i].id == step_id) {
            snprintf(out, size, "%s", names[i].name);
            return out;
        }
    }
    snprintf(out, size, "%u", step_id);
    return out;
}

bool hm_step_is_script(uint32_t step_id)
{
    return step_id == HM_STEP_BATCH || step_id == HM_STEP_INTERACTIVE;
}

int hm_step_parse(const char *text, uint32_t *step_id)
{
    uint64_t number;
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strcmp(names[i].name, text) == 0) {
            *step_id = names[i].id;
            return 0;
        }
    }
    if (hm_size_parse_number(text, 0, UINT32_MAX, &number, NULL) != 0)
        return -1;
    *step_id = (uint32_t)number;
    return 0;
}
