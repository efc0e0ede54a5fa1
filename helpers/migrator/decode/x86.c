/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions of x86-64 access memory, and by which registers. */
#include <string.h>

#include "regs.h"

#if defined(__x86_64__)
/* Each register with its parts, in the order of a sample: that of the bits in sample_regs_user. */
static const uint16_t parts[HM_OPERAND_REGS][5] = {
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
};

uint8_t hm_operand_reg(unsigned reg)
{
    for (uint8_t number = 0; reg != X86_REG_INVALID && number < HM_OPERAND_REGS; number++)
        for (int part = 0; part < 5; part++)
            if (parts[number][part] == reg)
                return number;
    return HM_OPERAND_NONE;
}

/* Is the address made of whole registers that a sample has? Vectors of addresses and 32-bit addresses are not. */
static bool take_reg(unsigned reg, uint8_t *number)
{
    *number = hm_operand_reg(reg);
    return reg == X86_REG_INVALID || reg == X86_REG_RIZ || (*number < HM_OPERAND_REGS && parts[*number][0] == reg);
}

/* Does it move data, so that it only writes where its first operand is memory? Capstone 4 calls some of these reads. */
static bool is_move(const cs_insn *instruction)
{
    static const char *const names[] = {"mov", "vmov", "fst", "fist"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(instruction->mnemonic, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Instructions whose operand looks like memory, but is not accessed. */
static bool is_no_access(const cs_insn *instruction)
{
    switch (instruction->id) {
    case X86_INS_LEA:
    case X86_INS_NOP:
    case X86_INS_PREFETCH:
    case X86_INS_PREFETCHNTA:
    case X86_INS_PREFETCHT0:
    case X86_INS_PREFETCHT1:
    case X86_INS_PREFETCHT2:
    case X86_INS_PREFETCHW:
        return true;
    default:
        return false;
    }
}

bool hm_operand_take(const cs_insn *instruction, struct hm_operand *operand)
{
    const cs_x86 *detail = &instruction->detail->x86;
    const cs_x86_op *op = NULL;
    for (uint8_t i = 0; !op && i < detail->op_count; i++)
        if (detail->operands[i].type == X86_OP_MEM)
            op = &detail->operands[i];
    if (!op || is_no_access(instruction))
        return false;
    bool is_stored = op == detail->operands && is_move(instruction);
    *operand = (struct hm_operand){.is_load = !is_stored && op->access & CS_AC_READ,
                                   .is_store = is_stored || op->access & CS_AC_WRITE,
                                   .scale = (uint8_t)op->mem.scale,
                                   .offset = (uint64_t)op->mem.disp};
    if (op->mem.base == X86_REG_RSP && op->mem.index == X86_REG_INVALID)
        return false;
    bool is_relative = op->mem.base == X86_REG_RIP;
    bool is_plain = op->mem.segment != X86_REG_FS && op->mem.segment != X86_REG_GS;
    bool has_base = take_reg(is_relative ? X86_REG_INVALID : op->mem.base, &operand->base);
    bool has_index = take_reg(op->mem.index, &operand->index);
    operand->is_known = is_plain && has_base && has_index;
    if (is_relative)
        operand->offset += instruction->address + instruction->size;
    return true;
}
#endif
