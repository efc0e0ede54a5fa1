/* SPDX-License-Identifier: Apache-2.0 */
/* Notes why a step is refused (parts.h). */
#include "base/files.h"
#include "parts.h"

void hm_step_refuse(struct hm_step *step, const char *text)
{
    if (!step->refusal[0])
        hm_text_copy(step->refusal, text, sizeof(step->refusal));
}
