/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: instructions that compute with registers. */
#include "x86.h"

#if defined(__x86_64__)
#define AX 0
#define DX 3

/* An instruction of two operands, `to` and `right`; or of one, with `value` in place of the other. */
struct row {
    unsigned id;
    enum hm_route_op op;
    enum hm_route_flags flags;
    bool is_compared; /* the result is not kept */
    int value;
};

static const struct row two[] = {
    {X86_INS_MOV, HM_ROUTE_SET, HM_ROUTE_KEEP, false, 0},   {X86_INS_MOVABS, HM_ROUTE_SET, HM_ROUTE_KEEP, false, 0},
    {X86_INS_ADD, HM_ROUTE_ADD, HM_ROUTE_SIGN, false, 0},   {X86_INS_SUB, HM_ROUTE_SUB, HM_ROUTE_COMPARE, false, 0},
    {X86_INS_AND, HM_ROUTE_AND, HM_ROUTE_RESULT, false, 0}, {X86_INS_OR, HM_ROUTE_OR, HM_ROUTE_RESULT, false, 0},
    {X86_INS_XOR, HM_ROUTE_XOR, HM_ROUTE_RESULT, false, 0}, {X86_INS_SHL, HM_ROUTE_SHL, HM_ROUTE_SIGN, false, 1},
    {X86_INS_SAL, HM_ROUTE_SHL, HM_ROUTE_SIGN, false, 1},   {X86_INS_SHR, HM_ROUTE_SHR, HM_ROUTE_SIGN, false, 1},
    {X86_INS_SAR, HM_ROUTE_SAR, HM_ROUTE_SIGN, false, 1},   {X86_INS_IMUL, HM_ROUTE_MUL, HM_ROUTE_LOST, false, 0},
    {X86_INS_CMP, HM_ROUTE_SUB, HM_ROUTE_COMPARE, true, 0}, {X86_INS_TEST, HM_ROUTE_AND, HM_ROUTE_RESULT, true, 0},
    {X86_INS_INC, HM_ROUTE_ADD, HM_ROUTE_SIGN, false, 1},   {X86_INS_DEC, HM_ROUTE_SUB, HM_ROUTE_SIGN, false, 1},
    {X86_INS_NOT, HM_ROUTE_XOR, HM_ROUTE_KEEP, false, -1},
};

static const struct row *find_row(unsigned id)
{
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
        if (two[i].id == id)
            return &two[i];
    return NULL;
}

/* Takes the first operand as the register that is written. It has the bits of the operation. */
static bool take_to(const cs_x86 *detail, struct hm_route_step *step)
{
    const cs_x86_op *operand = &detail->operands[0];
    return detail->op_count > 0 && operand->type == X86_OP_REG && hm_x86_reg(operand->reg, &step->to, &step->bits);
}

/* Takes a register or a constant as the right operand. */
static bool take_right(const cs_x86_op *operand, struct hm_route_step *step)
{
    uint8_t bits;
    if (operand->type == X86_OP_IMM) {
        step->value = (uint64_t)operand->imm;
        return true;
    }
    return operand->type == X86_OP_REG && hm_x86_reg(operand->reg, &step->right, &bits);
}

static bool is_shift(const struct hm_route_step *step)
{
    return step->op == HM_ROUTE_SHL || step->op == HM_ROUTE_SHR || step->op == HM_ROUTE_SAR;
}

static bool compute(const struct row *row, const cs_x86 *detail, struct hm_instruction *instruction)
{
    struct hm_route_step step = hm_translate_step(row->op);
    step.value = (uint64_t)(int64_t)row->value;
    step.flags = (uint8_t)row->flags & 0xf;
    uint8_t last = detail->op_count - 1;
    if (!take_to(detail, &step) || detail->op_count > 3 ||
        (last == 0 ? row->value == 0 : !take_right(&detail->operands[last], &step)))
        return false;
    step.left = step.to;
    if (last == 2 &&
        !(detail->operands[1].type == X86_OP_REG && hm_x86_reg(detail->operands[1].reg, &step.left, &step.bits)))
        return false;
    if (row->op == HM_ROUTE_SET)
        step.left = HM_ROUTE_ZERO;
    if (is_shift(&step) && (step.right != HM_ROUTE_VALUE || step.value == 0)) /* by 0, the flags stay */
        step.flags = HM_ROUTE_LOST;
    if ((row->id == X86_INS_XOR || row->id == X86_INS_SUB) && step.left == step.right) /* 0, whatever it was */
        step.left = step.right = HM_ROUTE_ZERO;
    if (row->is_compared)
        step.to = HM_ROUTE_NOWHERE;
    hm_translate_add(instruction, step);
    return true;
}

/* The narrow operand of movzx, movsx and movsxd is moved with zeros or its sign above. */
static bool widen(const cs_insn *decoded, struct hm_instruction *instruction)
{
    const cs_x86 *detail = &decoded->detail->x86;
    struct hm_route_step step = hm_translate_step(HM_ROUTE_AND);
    uint8_t narrow;
    if (detail->op_count != 2 || !take_to(detail, &step) || detail->operands[1].type != X86_OP_REG ||
        !hm_x86_reg(detail->operands[1].reg, &step.left, &narrow))
        return false;
    step.value = (UINT64_C(1) << narrow) - 1;
    if (decoded->id != X86_INS_MOVZX) {
        step.op = HM_ROUTE_SHL;
        step.value = step.bits - narrow;
        hm_translate_add(instruction, step);
        step.op = HM_ROUTE_SAR;
        step.left = step.to;
    }
    hm_translate_add(instruction, step);
    return true;
}

/* The product of ax and the operand, without signs, is in dx and ax. */
static bool multiply(const cs_insn *decoded, struct hm_instruction *instruction)
{
    const cs_x86_op *operand = &decoded->detail->x86.operands[0];
    struct hm_route_step step = hm_translate_step(HM_ROUTE_SET);
    step.to = HM_ROUTE_SPARE;
    if (operand->type != X86_OP_REG || !hm_x86_reg(operand->reg, &step.right, &step.bits) || step.bits < 32)
        return false;
    hm_translate_add(instruction, step);
    step =
        (struct hm_route_step){.op = HM_ROUTE_MULHI, .bits = step.bits, .to = DX, .left = AX, .right = HM_ROUTE_SPARE};
    hm_translate_add(instruction, step);
    step.op = HM_ROUTE_MUL;
    step.to = AX;
    step.flags = HM_ROUTE_LOST;
    hm_translate_add(instruction, step);
    return true;
}

static bool lea(const cs_insn *decoded, struct hm_instruction *instruction)
{
    const cs_x86 *detail = &decoded->detail->x86;
    struct hm_route_step step;
    if (!hm_x86_address(decoded, &detail->operands[1].mem, &step) || !take_to(detail, &step))
        return false;
    step.op = HM_ROUTE_LEA;
    hm_translate_add(instruction, step);
    return true;
}

/* cmov: its opcode has the condition. A register of 32 bits gets zeros above also where the condition does not hold. */
static bool move_if(const cs_x86 *detail, struct hm_instruction *instruction)
{
    struct hm_route_step step = hm_translate_step(HM_ROUTE_SET);
    if (detail->op_count != 2 || !take_to(detail, &step) || detail->operands[1].type != X86_OP_REG)
        return false;
    step.right = step.to;
    if (step.bits == 32)
        hm_translate_add(instruction, step);
    step.op = HM_ROUTE_CMOV;
    step.condition = detail->opcode[1] & 0xf;
    hm_x86_reg(detail->operands[1].reg, &step.right, &step.bits);
    hm_translate_add(instruction, step);
    return true;
}

/* 0 and a value in its place where the condition holds. */
static bool choose(const cs_x86 *detail, uint8_t condition, uint64_t value, struct hm_instruction *instruction)
{
    struct hm_route_step step = hm_translate_step(HM_ROUTE_SET);
    if (!take_to(detail, &step))
        return false;
    hm_translate_add(instruction, step);
    step.op = HM_ROUTE_CMOV;
    step.condition = condition & 0xf;
    step.value = value;
    hm_translate_add(instruction, step);
    return true;
}

/* sbb of a register and itself: -1 after a comparison with "below", else 0. */
static bool make_mask(const cs_x86 *detail, struct hm_instruction *instruction)
{
    struct hm_route_step lost = hm_translate_step(HM_ROUTE_LOSE);
    lost.flags = HM_ROUTE_LOST;
    if (detail->op_count != 2 || detail->operands[1].type != X86_OP_REG ||
        detail->operands[0].reg != detail->operands[1].reg || !choose(detail, HM_ROUTE_BELOW, UINT64_MAX, instruction))
        return false;
    hm_translate_add(instruction, lost);
    return true;
}

static bool negate(const cs_x86 *detail, struct hm_instruction *instruction)
{
    struct hm_route_step step = hm_translate_step(HM_ROUTE_SUB);
    step.flags = HM_ROUTE_COMPARE;
    if (!take_to(detail, &step))
        return false;
    step.right = step.to;
    hm_translate_add(instruction, step);
    return true;
}

/* The conditions of cmov and setcc are in their opcodes. */
static bool by_opcode(const cs_x86 *detail, struct hm_instruction *instruction, bool *done)
{
    uint8_t kind = detail->opcode[0] == 0x0f ? detail->opcode[1] & 0xf0 : 0;
    if (kind == 0x40)
        *done = move_if(detail, instruction);
    else if (kind == 0x90)
        *done = choose(detail, detail->opcode[1], 1, instruction);
    return kind == 0x40 || kind == 0x90;
}

bool hm_x86_compute(const cs_insn *decoded, struct hm_instruction *instruction)
{
    const cs_x86 *detail = &decoded->detail->x86;
    const struct row *row = find_row(decoded->id);
    bool done;
    if (by_opcode(detail, instruction, &done))
        return done;
    switch (decoded->id) {
    case X86_INS_MOVZX:
    case X86_INS_MOVSX:
    case X86_INS_MOVSXD:
        return widen(decoded, instruction);
    case X86_INS_MUL:
        return multiply(decoded, instruction);
    case X86_INS_LEA:
        return lea(decoded, instruction);
    case X86_INS_NOP:
        return true;
    case X86_INS_NEG:
        return negate(detail, instruction);
    case X86_INS_SBB:
        return make_mask(detail, instruction);
    case X86_INS_IMUL:
        return detail->op_count > 1 && compute(row, detail, instruction);
    default:
        return row && compute(row, detail, instruction);
    }
}
#endif
