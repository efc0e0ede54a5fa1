/* SPDX-License-Identifier: Apache-2.0 */
#include "figurefile.h"

#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/size.h"

#define SUFFIX ".migration"

char *hm_figurefile_name(uint32_t job_id, uint32_t step_id, char *out, size_t size)
{
    snprintf(out, size, "%u.%u" SUFFIX, job_id, step_id);
    return out;
}

bool hm_figurefile_is_name(const char *name, uint32_t *job_id, uint32_t *step_id)
{
    char text[64], *rest = text;
    uint64_t number[2];
    if (strlen(name) >= sizeof(text))
        return false;
    hm_text_copy(text, name, sizeof(text));
    for (int i = 0; i < 2; i++) {
        const char *part = strsep(&rest, ".");
        if (!rest || hm_size_parse_number(part, 0, UINT32_MAX, &number[i], NULL) != 0)
            return false;
    }
    *job_id = (uint32_t)number[0];
    *step_id = (uint32_t)number[1];
    return strcmp(rest, &SUFFIX[1]) == 0; /* strsep has taken the dot */
}
