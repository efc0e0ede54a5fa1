/* SPDX-License-Identifier: Apache-2.0 */
#include "translate.h"

struct hm_route_step hm_translate_step(enum hm_route_op op)
{
    return (struct hm_route_step){.op = (uint8_t)op,
                                  .bits = 64,
                                  .to = HM_ROUTE_NOWHERE,
                                  .left = HM_ROUTE_ZERO,
                                  .right = HM_ROUTE_VALUE,
                                  .scale = 1};
}

void hm_translate_add(struct hm_instruction *instruction, struct hm_route_step step)
{
    if (instruction->n_steps < HM_INSTRUCTION_STEPS)
        instruction->step[instruction->n_steps++] = step;
}

void hm_translate_lose(struct hm_instruction *instruction, bool flags)
{
    struct hm_route_step step = hm_translate_step(HM_ROUTE_LOSE);
    step.value = instruction->written;
    step.flags = flags ? HM_ROUTE_LOST : HM_ROUTE_KEEP;
    if (instruction->written || flags)
        hm_translate_add(instruction, step);
}
