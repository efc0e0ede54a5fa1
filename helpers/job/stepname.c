/* SPDX-License-Identifier: Apache-2.0 */
#include "stepname.h"

#include <stdio.h>

char *hm_step_name(uint32_t step_id, char *out, size_t size)
{
    const char *name = step_id == HM_STEP_BATCH         ? "batch"
                       : step_id == HM_STEP_EXTERN      ? "extern"
                       : step_id == HM_STEP_INTERACTIVE ? "interactive"
                                                        : NULL;
    if (name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%u", step_id);
    return out;
}
