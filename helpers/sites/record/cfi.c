/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Registers by their DWARF numbers on x86-64. */
#define FRAME_POINTER 6
#define STACK_POINTER 7
#define RETURN_ADDRESS 16
#define NO_REGISTER (-1)
#define FRAME_WORD (-2) /* none: the frame's end is in the word cfa_offset after the frame pointer */
#define KEPT 4          /* states that are remembered at a time */

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
    GNU_ARGS_SIZE = 0x2e,
    ADVANCE = 0x40, /* these three have an operand in their lower six bits */
    OFFSET = 0x80,
    RESTORE = 0xc0,
};
#define IN_OPCODE 0x3f
/* In expressions: push a word that is at an offset from the frame pointer; take the address from the stack for what is
 * there. */
#define FROM_FRAME (0x70 + FRAME_POINTER)
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
    [GNU_ARGS_SIZE] = "u",
};

/* ---------------------------------------------------------- bytes */

struct bytes {
    const unsigned char *at, *end;
    bool is_short; /* more was wanted than there is */
};

static const unsigned char *take(struct bytes *bytes, uint64_t n)
{
    const unsigned char *taken = bytes->at;
    if (n > (uint64_t)(bytes->end - bytes->at)) {
        bytes->is_short = true;
        bytes->at = bytes->end;
        return NULL;
    }
    bytes->at += n;
    return taken;
}

/* A number of 1 to 8 bytes. */
static uint64_t take_number(struct bytes *bytes, size_t n)
{
    uint64_t value = 0;
    const unsigned char *from = take(bytes, n);
    for (size_t i = 0; from && i < n; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static uint64_t take_leb(struct bytes *bytes, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    const unsigned char *from;
    do {
        from = take(bytes, 1);
        bytes->is_short |= shift >= 64;
        if (bytes->is_short)
            return 0;
        value |= (uint64_t)(*from & 0x7f) << shift;
        shift += 7;
    } while (*from & 0x80);
    if (is_signed && (*from & 0x40) && shift < 64)
        value |= UINT64_MAX << shift;
    return value;
}

/* An entry begins with the number of its bytes. */
static struct bytes bytes_of(const void *entry)
{
    uint32_t length;
    memcpy(&length, entry, sizeof(length));
    const unsigned char *from = (const unsigned char *)entry + sizeof(length);
    return length < UINT32_C(0xfffffff0) ? (struct bytes){from, from + length, false}
                                         : (struct bytes){from, from, true};
}

/* ---------------------------------------------------------- programs */

/* How the caller's value of a register is found. */
struct saved {
    enum { SAME, AT_OFFSET, AT_FRAME_POINTER, LOST, OTHERWISE } how;
    int64_t offset; /* from the frame's end */
};

struct state {
    int64_t cfa_register; /* the frame's end is cfa_offset after it */
    int64_t cfa_offset;
    struct saved frame_pointer, stack_pointer, return_address;
};

struct program {
    uint64_t code_factor;
    int64_t data_factor;
    size_t pointer_bytes; /* of addresses in the entries; 0: in no form that is understood */
    bool has_data;        /* entries have data of their language before their instructions */
    struct bytes code;    /* of the CIE */
    uintptr_t at, address;
    struct state state, kept[KEPT];
    unsigned n_kept;
    bool is_hard;
};

static void set(struct state *state, uint64_t number, struct saved saved)
{
    if (number == FRAME_POINTER)
        state->frame_pointer = saved;
    else if (number == STACK_POINTER)
        state->stack_pointer = saved;
    else if (number == RETURN_ADDRESS)
        state->return_address = saved;
}

static void define(struct state *state, int64_t number, int64_t offset)
{
    state->cfa_register = number;
    state->cfa_offset = offset;
}

static int64_t scale(const struct program *program, uint64_t offset)
{
    return (int64_t)(offset * (uint64_t)program->data_factor);
}

static void keep(struct program *program)
{
    if (program->n_kept < KEPT)
        program->kept[program->n_kept++] = program->state;
    else
        program->is_hard = true;
}

static void recall(struct program *program)
{
    if (program->n_kept > 0)
        program->state = program->kept[--program->n_kept];
    else
        program->is_hard = true;
}

/* Is the expression an offset from the frame pointer, and then `end`? */
static bool is_from_frame(struct bytes block, const char *end, int64_t *offset)
{
    if (take_number(&block, 1) != FROM_FRAME)
        return false;
    *offset = (int64_t)take_leb(&block, true);
    size_t left = (size_t)(block.end - block.at);
    return !block.is_short && left == strlen(end) && memcmp(block.at, end, left) == 0;
}

/* Functions that align their frame, and have arrays of variable size in it, keep its end in the frame. */
static void define_by_expression(struct state *state, struct bytes block)
{
    static const char dereference[] = {DEREFERENCE, 0};
    int64_t offset = 0;
    bool is_word = is_from_frame(block, dereference, &offset);
    define(state, is_word ? FRAME_WORD : NO_REGISTER, offset);
}

static void set_by_expression(struct state *state, uint64_t number, struct bytes block)
{
    int64_t offset;
    bool is_at_frame = is_from_frame(block, "", &offset) && offset == 0;
    set(state, number, (struct saved){is_at_frame ? AT_FRAME_POINTER : OTHERWISE, 0});
}

static void apply(struct program *program, unsigned opcode, const uint64_t *operand, struct bytes block)
{
    struct state *state = &program->state;
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
        set(state, operand[0], (struct saved){AT_OFFSET, scale(program, operand[1])});
        break;
    case RESTORE: /* no CIE says more of these registers than where the return address is */
    case RESTORE_EXTENDED:
    case SAME_VALUE:
        set(state, operand[0], (struct saved){SAME, 0});
        break;
    case UNDEFINED:
        set(state, operand[0], (struct saved){LOST, 0});
        break;
    case EXPRESSION:
        set_by_expression(state, operand[0], block);
        break;
    case REGISTER:
    case VAL_OFFSET:
    case VAL_OFFSET_SF:
    case VAL_EXPRESSION:
        set(state, operand[0], (struct saved){OTHERWISE, 0});
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
        define_by_expression(state, block);
        break;
    default: /* NOP, GNU_ARGS_SIZE */
        break;
    }
}

/* Runs instructions as far as they concern the code before the return address. */
static void execute(struct program *program, struct bytes code)
{
    while (code.at < code.end && program->at < program->address && !program->is_hard) {
        uint64_t operand[2] = {0};
        size_t n = 0;
        struct bytes block = {0};
        unsigned byte = *code.at++, opcode = byte;
        if (byte >= ADVANCE) {
            opcode = byte & ~(unsigned)IN_OPCODE;
            operand[n++] = byte & IN_OPCODE;
        }
        const char *form = opcode == OFFSET ? "u" : byte >= ADVANCE ? "" : operands[opcode];
        for (; form && *form; form++) {
            uint64_t value = *form == 'u' || *form == 'b' ? take_leb(&code, false)
                             : *form == 's'               ? take_leb(&code, true)
                                                          : take_number(&code, (size_t)(*form - '0'));
            if (*form == 'b') {
                block.at = take(&code, value);
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

/* ---------------------------------------------------------- entries */

/* The bytes of an address in this encoding; 0: it is not understood. */
static size_t bytes_of_pointer(unsigned encoding)
{
    static const size_t bytes[16] = {[0x0] = 8, [0x3] = 4, [0x4] = 8, [0xb] = 4, [0xc] = 8};
    return (encoding & 0x70) == 0x50 ? 0 : bytes[encoding & 0xf]; /* 0x50: it begins at a multiple of its size */
}

/* What follows the augmentation string in a CIE. Its first letter z says that there is a length. */
static void read_augmentation(struct program *program, struct bytes *cie, const char *letters)
{
    struct bytes data = *cie;
    program->pointer_bytes = bytes_of_pointer(0);
    program->has_data = *letters == 'z';
    if (program->has_data) {
        uint64_t length = take_leb(cie, false);
        data = *cie;
        take(cie, length);
        letters++;
    }
    for (; *letters; letters++) {
        unsigned encoding = (unsigned)take_number(&data, 1);
        size_t bytes = bytes_of_pointer(encoding);
        if (*letters == 'R')
            program->pointer_bytes = bytes;
        else if (*letters == 'P' && bytes > 0)
            take(&data, bytes);
        else if (*letters != 'L') /* S, a signal's frame, or one that is not known */
            program->is_hard = true;
    }
    program->is_hard |= data.is_short || program->pointer_bytes == 0;
}

static void read_cie(struct program *program, struct bytes cie)
{
    take(&cie, sizeof(uint32_t)); /* which says that it is one */
    uint64_t version = take_number(&cie, 1);
    const char *letters = (const char *)cie.at;
    size_t length = strnlen(letters, (size_t)(cie.end - cie.at));
    if (!take(&cie, length + 1) || (version != 1 && version != 3)) {
        program->is_hard = true;
        return;
    }
    program->code_factor = take_leb(&cie, false);
    program->data_factor = (int64_t)take_leb(&cie, true);
    program->is_hard = (version == 1 ? take_number(&cie, 1) : take_leb(&cie, false)) != RETURN_ADDRESS;
    read_augmentation(program, &cie, letters);
    program->is_hard |= cie.is_short;
    program->code = cie;
}

static int64_t negative(int64_t value)
{
    return (int64_t)(0 - (uint64_t)value);
}

static bool is_step(int64_t bytes, int64_t most)
{
    return bytes > 0 && bytes <= most && bytes % HM_CFI_WORD == 0;
}

static enum hm_cfi_kind kind_of(const struct state *state)
{
    const struct saved *frame = &state->frame_pointer, *next = &state->return_address;
    bool is_by_word = state->cfa_register == FRAME_WORD;
    if (next->how == LOST)
        return HM_CFI_ENDS;
    if (next->how != AT_OFFSET || next->offset != -HM_CFI_WORD || state->stack_pointer.how != SAME)
        return HM_CFI_HARD;
    if (frame->how == OTHERWISE || (frame->how == AT_FRAME_POINTER) != is_by_word)
        return HM_CFI_HARD;
    return is_by_word                             ? HM_CFI_BY_WORD
           : state->cfa_register == FRAME_POINTER ? HM_CFI_BY_FRAME
           : state->cfa_register == STACK_POINTER ? HM_CFI_BY_STACK
                                                  : HM_CFI_HARD;
}

static struct hm_cfi_rule rule_of(const struct state *state)
{
    const struct saved *frame = &state->frame_pointer;
    struct hm_cfi_rule rule = {kind_of(state), 0, 0};
    int64_t bytes = rule.kind == HM_CFI_BY_WORD ? negative(state->cfa_offset) : state->cfa_offset;
    int64_t saved_bytes = frame->how == AT_OFFSET ? negative(frame->offset) : 0;
    if (rule.kind == HM_CFI_ENDS || rule.kind == HM_CFI_HARD)
        return rule;
    if (!is_step(bytes, HM_CFI_MOST_FRAME) || (frame->how == AT_OFFSET && !is_step(saved_bytes, HM_CFI_MOST_SAVED)))
        return (struct hm_cfi_rule){HM_CFI_HARD, 0, 0};
    rule.frame_bytes = (uint32_t)bytes;
    rule.saved_bytes = (uint32_t)saved_bytes;
    return rule;
}

struct hm_cfi_rule hm_cfi_find(const void *fde, uintptr_t function, uintptr_t address)
{
    struct program program = {.at = function, .address = address, .state.cfa_register = NO_REGISTER};
    struct bytes code = bytes_of(fde);
    const unsigned char *begin = code.at;
    int32_t to_cie = (int32_t)take_number(&code, sizeof(int32_t));
    if (!code.is_short)
        read_cie(&program, bytes_of(begin - to_cie));
    take(&code, 2 * program.pointer_bytes); /* which code it is of */
    if (program.has_data)
        take(&code, take_leb(&code, false));
    program.is_hard |= code.is_short;
    execute(&program, program.code);
    execute(&program, code);
    return program.is_hard ? (struct hm_cfi_rule){HM_CFI_HARD, 0, 0} : rule_of(&program.state);
}
