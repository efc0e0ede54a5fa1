/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions of arm64 access memory, and by which registers. */
#include "regs.h"

#if defined(__aarch64__)
#define STACK_POINTER 31 /* its number, after x0 ... x30 */

uint8_t hm_operand_reg(unsigned reg)
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
    return HM_OPERAND_NONE;
}

static bool is_prefetch(const cs_insn *instruction)
{
    return instruction->id == ARM64_INS_PRFM || instruction->id == ARM64_INS_PRFUM;
}

/* Stores are those whose name begins with st; what remains are loads, and operations that load and store. */
static void take_kind(const cs_insn *instruction, struct hm_operand *operand)
{
    operand->is_store = instruction->mnemonic[0] == 's' && instruction->mnemonic[1] == 't';
    operand->is_load = instruction->mnemonic[0] == 'l' && instruction->mnemonic[1] == 'd';
}

bool hm_operand_take(const cs_insn *instruction, struct hm_operand *operand)
{
    const cs_arm64 *detail = &instruction->detail->arm64;
    const cs_arm64_op *op = NULL;
    for (uint8_t i = 0; !op && i < detail->op_count; i++)
        if (detail->operands[i].type == ARM64_OP_MEM)
            op = &detail->operands[i];
    if (!op || is_prefetch(instruction) || (op->mem.base == ARM64_REG_SP && op->mem.index == ARM64_REG_INVALID))
        return false;
    *operand = (struct hm_operand){.base = hm_operand_reg(op->mem.base),
                                   .index = hm_operand_reg(op->mem.index),
                                   .scale = 1,
                                   .offset = (uint64_t)(int64_t)op->mem.disp};
    bool is_whole =
        op->mem.index == ARM64_REG_INVALID || (op->mem.index >= ARM64_REG_X0 && op->mem.index <= ARM64_REG_X28);
    bool is_shifted = op->shift.type == ARM64_SFT_LSL && op->shift.value < 8;
    if (is_shifted)
        operand->scale = (uint8_t)(1 << op->shift.value);
    operand->is_known = operand->base != HM_OPERAND_NONE && is_whole && op->ext == ARM64_EXT_INVALID &&
                        (is_shifted || op->shift.type == ARM64_SFT_INVALID);
    take_kind(instruction, operand);
    return true;
}
#endif
