/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: registers, accesses to memory, and jumps. */
#include "x86.h"

#if defined(__x86_64__)
#include <string.h>

#define PARTS 4 /* of a register; each has half the bits of the one before */

/* Each register with its parts, in the order of a sample: that of the bits in sample_regs_user. */
static const uint16_t parts[HM_ROUTE_REGS][PARTS] = {
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},      {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},      {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},     {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},     {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},     {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B}, {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B}, {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B}, {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
};

bool hm_x86_reg(unsigned reg, uint8_t *number, uint8_t *bits)
{
    for (*number = 0; reg != X86_REG_INVALID && *number < HM_ROUTE_REGS; (*number)++)
        for (int part = 0; part < PARTS; part++)
            if (parts[*number][part] == reg) {
                *bits = (uint8_t)(64 >> part);
                return true;
            }
    *number = HM_ROUTE_NOWHERE;
    return false;
}

uint8_t hm_translate_reg(unsigned reg)
{
    static const uint16_t upper[] = {X86_REG_AH, X86_REG_BH, X86_REG_CH, X86_REG_DH};
    uint8_t number, bits;
    for (uint8_t i = 0; i < sizeof(upper) / sizeof(upper[0]); i++)
        if (upper[i] == reg)
            return i;
    hm_x86_reg(reg, &number, &bits);
    return number;
}

/* Is the address made of whole registers that a sample has? Vectors of addresses and 32-bit addresses are not. */
static bool take_reg(unsigned reg, uint8_t *number)
{
    uint8_t bits;
    if (reg == X86_REG_INVALID || reg == X86_REG_RIZ) {
        *number = HM_ROUTE_ZERO;
        return true;
    }
    return hm_x86_reg(reg, number, &bits) && bits == 64;
}

bool hm_x86_address(const cs_insn *decoded, const x86_op_mem *memory, struct hm_route_step *step)
{
    bool is_relative = memory->base == X86_REG_RIP;
    *step = hm_translate_step(HM_ROUTE_ACCESS);
    step->value = (uint64_t)memory->disp;
    step->scale = (uint8_t)memory->scale;
    step->left = HM_ROUTE_PLACE; /* where the instruction is */
    if (is_relative)
        step->value += decoded->size;
    return memory->segment != X86_REG_FS && memory->segment != X86_REG_GS &&
           (is_relative || take_reg(memory->base, &step->left)) && take_reg(memory->index, &step->right);
}

/* Does it move data, so that it only writes where its first operand is memory? Capstone 4 calls some of these reads. */
static bool is_move(const cs_insn *decoded)
{
    static const char *const names[] = {"mov", "vmov", "fst", "fist"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(decoded->mnemonic, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Instructions whose operand looks like memory, but is not accessed. */
static bool is_no_access(const cs_insn *decoded)
{
    switch (decoded->id) {
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

static const cs_x86_op *find_memory(const cs_insn *decoded)
{
    const cs_x86 *detail = &decoded->detail->x86;
    for (uint8_t i = 0; i < detail->op_count; i++)
        if (detail->operands[i].type == X86_OP_MEM)
            return &detail->operands[i];
    return NULL;
}

static void access_memory(const cs_insn *decoded, const cs_x86_op *operand, struct hm_instruction *instruction)
{
    struct hm_route_step step;
    bool is_stack = operand->mem.base == X86_REG_RSP && operand->mem.index == X86_REG_INVALID;
    if (is_stack || is_no_access(decoded) || !hm_x86_address(decoded, &operand->mem, &step))
        return;
    bool is_stored = operand == decoded->detail->x86.operands && is_move(decoded);
    step.is_load = !is_stored && operand->access & CS_AC_READ;
    step.is_store = is_stored || operand->access & CS_AC_WRITE;
    hm_translate_add(instruction, step);
    instruction->has_access = true;
}

/* A jump to a place that the instruction itself names goes on there. */
static void jump(const cs_insn *decoded, struct hm_instruction *instruction)
{
    const cs_x86 *detail = &decoded->detail->x86;
    uint8_t first = detail->opcode[0], second = detail->opcode[1];
    bool is_near = first == 0x0f && (second & 0xf0) == 0x80, is_short = (first & 0xf0) == 0x70;
    instruction->goes_on = HM_GOES_AWAY;
    if (detail->op_count != 1 || detail->operands[0].type != X86_OP_IMM)
        return;
    int64_t target = detail->operands[0].imm;
    instruction->target = target == (int32_t)target ? (int32_t)target : INT32_MAX;
    if (decoded->id == X86_INS_JMP)
        instruction->goes_on = HM_GOES_JUMP;
    if (!is_near && !is_short)
        return;
    instruction->goes_on = HM_GOES_BRANCH;
    struct hm_route_step branch = hm_translate_step(HM_ROUTE_BRANCH);
    branch.condition = (is_near ? second : first) & 0xf;
    hm_translate_add(instruction, branch);
}

void hm_translate(csh engine, const cs_insn *decoded, struct hm_instruction *instruction)
{
    static const uint8_t away[] = {CS_GRP_CALL, CS_GRP_RET, CS_GRP_INT, CS_GRP_IRET};
    const cs_x86_op *memory = find_memory(decoded);
    for (size_t i = 0; i < sizeof(away); i++)
        if (cs_insn_group(engine, decoded, away[i]))
            instruction->goes_on = HM_GOES_AWAY;
    if (cs_insn_group(engine, decoded, CS_GRP_JUMP))
        jump(decoded, instruction);
    if (memory && instruction->goes_on == HM_GOES_NEXT)
        access_memory(decoded, memory, instruction);
    if (instruction->goes_on == HM_GOES_NEXT && (instruction->has_access || !hm_x86_compute(decoded, instruction)))
        hm_translate_lose(instruction, decoded->detail->x86.eflags != 0);
}
#endif
