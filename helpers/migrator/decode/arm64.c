/* SPDX-License-Identifier: Apache-2.0 */
/* arm64: which instructions access memory, and by which registers. What they compute is not followed. */
#include "translate.h"

#if defined(__aarch64__)
#define SIZE 4           /* bytes of an instruction */
#define STACK_POINTER 31 /* its number, after x0 ... x30 */

uint8_t hm_translate_reg(unsigned reg)
{
    if (reg == ARM64_REG_SP || reg == ARM64_REG_WSP)
        return STACK_POINTER;
    if (reg == ARM64_REG_X29 || reg == ARM64_REG_W29)
        return 29;
    if (reg == ARM64_REG_X30 || reg == ARM64_REG_W30)
        return 30;
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        return (uint8_t)(reg - ARM64_REG_X0);
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W28)
        return (uint8_t)(reg - ARM64_REG_W0);
    return HM_ROUTE_NOWHERE;
}

size_t hm_translate_size(const uint8_t *byte, size_t size)
{
    (void)byte;
    return size < SIZE ? 0 : SIZE;
}

static bool is_prefetch(const cs_insn *decoded)
{
    return decoded->id == ARM64_INS_PRFM || decoded->id == ARM64_INS_PRFUM;
}

static const cs_arm64_op *find_memory(const cs_insn *decoded)
{
    const cs_arm64 *detail = &decoded->detail->arm64;
    for (uint8_t i = 0; i < detail->op_count; i++)
        if (detail->operands[i].type == ARM64_OP_MEM)
            return &detail->operands[i];
    return NULL;
}

/* Stores are those whose name begins with st; what remains are loads, and operations that load and store. */
static void access_memory(const cs_insn *decoded, const cs_arm64_op *operand, struct hm_instruction *instruction)
{
    struct hm_route_step step = hm_translate_step(HM_ROUTE_ACCESS);
    step.left = hm_translate_reg(operand->mem.base);
    step.right = operand->mem.index == ARM64_REG_INVALID ? HM_ROUTE_ZERO : hm_translate_reg(operand->mem.index);
    step.value = (uint64_t)(int64_t)operand->mem.disp;
    bool is_whole = operand->mem.index == ARM64_REG_INVALID ||
                    (operand->mem.index >= ARM64_REG_X0 && operand->mem.index <= ARM64_REG_X28);
    bool is_shifted = operand->shift.type == ARM64_SFT_LSL && operand->shift.value < 8;
    if (is_shifted)
        step.scale = (uint8_t)(1 << operand->shift.value);
    if (step.left == HM_ROUTE_NOWHERE || !is_whole || operand->ext != ARM64_EXT_INVALID ||
        !(is_shifted || operand->shift.type == ARM64_SFT_INVALID))
        return;
    step.is_store = decoded->mnemonic[0] == 's' && decoded->mnemonic[1] == 't';
    step.is_load = decoded->mnemonic[0] == 'l' && decoded->mnemonic[1] == 'd';
    hm_translate_add(instruction, step);
    instruction->has_access = true;
}

void hm_translate(csh engine, const cs_insn *decoded, struct hm_instruction *instruction)
{
    static const uint8_t away[] = {CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET, CS_GRP_INT, CS_GRP_IRET};
    const cs_arm64_op *memory = find_memory(decoded);
    for (size_t i = 0; i < sizeof(away); i++)
        if (cs_insn_group(engine, decoded, away[i]))
            instruction->goes_on = HM_GOES_AWAY;
    bool is_stack = memory && memory->mem.base == ARM64_REG_SP && memory->mem.index == ARM64_REG_INVALID;
    if (memory && instruction->goes_on == HM_GOES_NEXT && !is_stack && !is_prefetch(decoded))
        access_memory(decoded, memory, instruction);
    hm_translate_lose(instruction, false);
}
#endif
