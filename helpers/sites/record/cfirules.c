/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cfi.h for the instructions in entries, and the rule that they come to. */
#include <string.h>

#include "cfiparts.h"

#define FRAME_WORD                                                                                                     \
    (HM_CFI_NO_REGISTER - 1) /* none: the frame's end is in the word cfa_offset after the frame pointer */

enum opcode {
    NOP = 0x00,
    ADVANCE1 = 0x02,
    ADVANCE2 = 0x03,
    ADVANCE4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER = 0x0a,
    RECALL = 0x0b,
    DEF_CFA = 0x0c,
    DEF_CFA_REGISTER = 0x0d,
    DEF_CFA_OFFSET = 0x0e,
    DEF_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF = 0x11,
    DEF_CFA_SF = 0x12,
    DEF_CFA_OFFSET_SF = 0x13,
    VAL_OFFSET = 0x14,
    VAL_OFFSET_SF = 0x15,
    VAL_EXPRESSION = 0x16,
    NEGATE_SIGNED = 0x2d, /* on machines that sign return addresses */
    GNU_ARGS_SIZE = 0x2e,
    ADVANCE = 0x40, /* these three have an operand in their lower six bits */
    OFFSET = 0x80,
    RESTORE = 0xc0,
};
#define IN_OPCODE 0x3f
/* In expressions: push a word that is at an offset from the register of that number; take the address from the stack
 * for what is there. */
#define FROM_REGISTER 0x70U
#define DEREFERENCE 0x06

/* The operands that follow: u unsigned LEB128, s signed, 1 2 4 bytes, b a block. An opcode without a row is not
 * understood. */
static const char *const operands[OFFSET + 1] = {
    [NOP] = "",
    [ADVANCE1] = "1",
    [ADVANCE2] = "2",
    [ADVANCE4] = "4",
    [OFFSET_EXTENDED] = "uu",
    [RESTORE_EXTENDED] = "u",
    [UNDEFINED] = "u",
    [SAME_VALUE] = "u",
    [REGISTER] = "uu",
    [REMEMBER] = "",
    [RECALL] = "",
    [DEF_CFA] = "uu",
    [DEF_CFA_REGISTER] = "u",
    [DEF_CFA_OFFSET] = "u",
    [DEF_CFA_EXPRESSION] = "b",
    [EXPRESSION] = "ub",
    [OFFSET_EXTENDED_SF] = "us",
    [DEF_CFA_SF] = "us",
    [DEF_CFA_OFFSET_SF] = "s",
    [VAL_OFFSET] = "uu",
    [VAL_OFFSET_SF] = "us",
    [VAL_EXPRESSION] = "ub",
    [NEGATE_SIGNED] = "",
    [GNU_ARGS_SIZE] = "u",
};

/* ---------------------------------------------------------- instructions */

static void set(struct hm_cfi_program *program, uint64_t number, struct hm_cfi_saved saved)
{
    if (number == program->machine->frame_pointer)
        program->state.frame_pointer = saved;
    else if (number == program->machine->stack_pointer)
        program->state.stack_pointer = saved;
    else if (number == program->machine->return_address)
        program->state.return_address = saved;
}

static void define(struct hm_cfi_state *state, int64_t number, int64_t offset)
{
    state->cfa_register = number;
    state->cfa_offset = offset;
}

static int64_t scale(const struct hm_cfi_program *program, uint64_t offset)
{
    return (int64_t)(offset * (uint64_t)program->data_factor);
}

static void keep(struct hm_cfi_program *program)
{
    if (program->n_kept < HM_CFI_KEPT)
        program->kept[program->n_kept++] = program->state;
    else
        program->is_hard = true;
}

static void recall(struct hm_cfi_program *program)
{
    if (program->n_kept > 0)
        program->state = program->kept[--program->n_kept];
    else
        program->is_hard = true;
}

/* Is the expression an offset from the frame pointer, and then `end`? */
static bool is_from_frame(const struct hm_machine *machine, struct hm_cfi_bytes block, const char *end, int64_t *offset)
{
    if (hm_cfi_take_number(&block, 1) != FROM_REGISTER + machine->frame_pointer)
        return false;
    *offset = (int64_t)hm_cfi_take_leb(&block, true);
    size_t left = (size_t)(block.end - block.at);
    return !block.is_short && left == strlen(end) && memcmp(block.at, end, left) == 0;
}

/* Functions that align their frame, and have arrays of variable size in it, keep its end in the frame. */
static void define_by_expression(struct hm_cfi_program *program, struct hm_cfi_bytes block)
{
    static const char dereference[] = {DEREFERENCE, 0};
    int64_t offset = 0;
    bool is_word = is_from_frame(program->machine, block, dereference, &offset);
    define(&program->state, is_word ? FRAME_WORD : HM_CFI_NO_REGISTER, offset);
}

static void set_by_expression(struct hm_cfi_program *program, uint64_t number, struct hm_cfi_bytes block)
{
    int64_t offset;
    bool is_at_frame = is_from_frame(program->machine, block, "", &offset) && offset == 0;
    set(program, number, (struct hm_cfi_saved){is_at_frame ? HM_CFI_AT_FRAME_POINTER : HM_CFI_OTHERWISE, 0});
}

static void apply(struct hm_cfi_program *program, unsigned opcode, const uint64_t *operand, struct hm_cfi_bytes block)
{
    struct hm_cfi_state *state = &program->state;
    switch (opcode) {
    case ADVANCE:
    case ADVANCE1:
    case ADVANCE2:
    case ADVANCE4:
        program->at += operand[0] * program->code_factor;
        break;
    case OFFSET:
    case OFFSET_EXTENDED:
    case OFFSET_EXTENDED_SF:
        set(program, operand[0], (struct hm_cfi_saved){HM_CFI_AT_OFFSET, scale(program, operand[1])});
        break;
    case RESTORE: /* no CIE says more of these registers than where the return address is */
    case RESTORE_EXTENDED:
    case SAME_VALUE:
        set(program, operand[0], (struct hm_cfi_saved){HM_CFI_SAME, 0});
        break;
    case UNDEFINED:
        set(program, operand[0], (struct hm_cfi_saved){HM_CFI_LOST, 0});
        break;
    case EXPRESSION:
        set_by_expression(program, operand[0], block);
        break;
    case REGISTER:
    case VAL_OFFSET:
    case VAL_OFFSET_SF:
    case VAL_EXPRESSION:
        set(program, operand[0], (struct hm_cfi_saved){HM_CFI_OTHERWISE, 0});
        break;
    case REMEMBER:
        keep(program);
        break;
    case RECALL:
        recall(program);
        break;
    case DEF_CFA:
        define(state, (int64_t)operand[0], (int64_t)operand[1]);
        break;
    case DEF_CFA_SF:
        define(state, (int64_t)operand[0], scale(program, operand[1]));
        break;
    case DEF_CFA_REGISTER:
        define(state, (int64_t)operand[0], state->cfa_offset);
        break;
    case DEF_CFA_OFFSET:
        define(state, state->cfa_register, (int64_t)operand[0]);
        break;
    case DEF_CFA_OFFSET_SF:
        define(state, state->cfa_register, scale(program, operand[0]));
        break;
    case DEF_CFA_EXPRESSION:
        define_by_expression(program, block);
        break;
    case NEGATE_SIGNED: /* the walk takes each address as if it were signed */
        program->is_hard = !program->machine->signs_addresses;
        break;
    default: /* NOP, GNU_ARGS_SIZE */
        break;
    }
}

void hm_cfi_execute(struct hm_cfi_program *program, struct hm_cfi_bytes code)
{
    while (code.at < code.end && program->at < program->address && !program->is_hard) {
        uint64_t operand[2] = {0};
        size_t n = 0;
        struct hm_cfi_bytes block = {0};
        unsigned byte = *code.at++, opcode = byte;
        if (byte >= ADVANCE) {
            opcode = byte & ~(unsigned)IN_OPCODE;
            operand[n++] = byte & IN_OPCODE;
        }
        const char *form = opcode == OFFSET ? "u" : byte >= ADVANCE ? "" : operands[opcode];
        for (; form && *form; form++) {
            uint64_t value = *form == 'u' || *form == 'b' ? hm_cfi_take_leb(&code, false)
                             : *form == 's'               ? hm_cfi_take_leb(&code, true)
                                                          : hm_cfi_take_number(&code, (size_t)(*form - '0'));
            if (*form == 'b') {
                block.at = hm_cfi_take(&code, value);
                block.end = code.at;
            } else {
                operand[n++] = value;
            }
        }
        program->is_hard = !form || code.is_short;
        if (!program->is_hard)
            apply(program, opcode, operand, block);
    }
}

/* ---------------------------------------------------------- rules */

/* What these are computed of may be any numbers. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t negative(int64_t value)
{
    return (int64_t)(0 - (uint64_t)value);
}

static bool is_in(const struct hm_machine_range *range, int64_t bytes)
{
    int64_t steps = bytes / range->step;
    return bytes % range->step == 0 && steps >= -range->before && steps < (INT64_C(1) << range->bits) - range->before;
}

static enum hm_cfi_kind kind_of(const struct hm_machine *machine, const struct hm_cfi_state *state)
{
    const struct hm_cfi_saved *frame = &state->frame_pointer, *next = &state->return_address;
    bool is_by_word = state->cfa_register == FRAME_WORD;
    if (next->how == HM_CFI_LOST)
        return HM_CFI_ENDS;
    if (next->how != HM_CFI_AT_OFFSET || next->offset >= 0 || state->stack_pointer.how != HM_CFI_SAME)
        return HM_CFI_HARD;
    if (frame->how == HM_CFI_OTHERWISE || (frame->how == HM_CFI_AT_FRAME_POINTER) != is_by_word)
        return HM_CFI_HARD;
    return is_by_word                                      ? HM_CFI_BY_WORD
           : state->cfa_register == machine->frame_pointer ? HM_CFI_BY_FRAME
           : state->cfa_register == machine->stack_pointer ? HM_CFI_BY_STACK
                                                           : HM_CFI_HARD;
}

struct hm_cfi_rule hm_cfi_rule_of(const struct hm_cfi_program *program)
{
    const struct hm_machine *machine = program->machine;
    const struct hm_cfi_state *state = &program->state;
    struct hm_cfi_rule rule = {.kind = kind_of(machine, state)};
    if (rule.kind == HM_CFI_ENDS || rule.kind == HM_CFI_HARD)
        return rule;
    bool is_saved = state->frame_pointer.how == HM_CFI_AT_OFFSET, is_by_word = rule.kind == HM_CFI_BY_WORD;
    int64_t frame = is_by_word ? negative(state->cfa_offset) : state->cfa_offset;
    int64_t next = state->return_address.offset, next_from_register = sum(next, frame);
    int64_t saved = is_saved ? sum(state->frame_pointer.offset, negative(next)) : 0;
    if (!is_in(&machine->next, next) && !is_by_word && next_from_register >= 0)
        next = next_from_register;
    if (frame <= 0 || !is_in(&machine->frame, frame) || !is_in(&machine->next, next) ||
        !is_in(&machine->saved, saved) || (is_saved && saved == 0))
        return (struct hm_cfi_rule){.kind = HM_CFI_HARD};
    return (struct hm_cfi_rule){rule.kind, frame, next, saved};
}
