/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>

#include "regs.h"

#define DISTANCE 12 /* instructions that are looked at, at most, on either side */

/* What an instruction does. */
struct step {
    struct hm_operand operand;
    uint64_t written; /* registers, as bits */
    bool has_operand, branches;
};

struct hm_operands {
    csh engine;
    cs_insn *instruction;
};

struct hm_operands *hm_operands_new(struct hm_error *error)
{
    struct hm_operands *operands = calloc(1, sizeof(*operands));
    if (!operands) {
        hm_fail(error, ENOMEM, "no memory to decode instructions");
        return NULL;
    }
    cs_err status = cs_open(HM_OPERAND_ARCH, HM_OPERAND_MODE, &operands->engine);
    if (status == CS_ERR_OK)
        status = cs_option(operands->engine, CS_OPT_DETAIL, CS_OPT_ON);
    if (status == CS_ERR_OK)
        operands->instruction = cs_malloc(operands->engine);
    if (!operands->instruction) {
        hm_fail(error, ENOSYS, "capstone cannot decode this processor's instructions: %s", cs_strerror(status));
        hm_operands_free(operands);
        return NULL;
    }
    return operands;
}

void hm_operands_free(struct hm_operands *operands)
{
    if (!operands)
        return;
    if (operands->instruction)
        cs_free(operands->instruction, 1);
    if (operands->engine)
        cs_close(&operands->engine);
    free(operands);
}

/* Does it go on somewhere else than at the next instruction, or may it? */
static bool branches(csh engine, const cs_insn *instruction)
{
    static const uint8_t groups[] = {CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET, CS_GRP_INT, CS_GRP_IRET};
    for (size_t i = 0; i < sizeof(groups); i++)
        if (cs_insn_group(engine, instruction, groups[i]))
            return true;
    return false;
}

/* The registers that the instruction writes, as bits; all of them if that is not known. */
static uint64_t find_written(csh engine, const cs_insn *instruction)
{
    cs_regs read, write;
    uint8_t n_read, n_written;
    uint64_t written = 0;
    if (cs_regs_access(engine, instruction, read, &n_read, write, &n_written) != CS_ERR_OK)
        return UINT64_MAX;
    for (uint8_t i = 0; i < n_written; i++) {
        uint8_t number = hm_operand_reg(write[i]);
        if (number != HM_OPERAND_NONE)
            written |= UINT64_C(1) << number;
    }
    return written;
}

/* Decodes up to `most` instructions; `is_straight`: no more after one that branches. Returns their number, and in *end
 * the bytes that they have. */
static size_t decode(struct hm_operands *operands, const uint8_t *code, size_t size, uint64_t address,
                     struct step *step, size_t most, bool is_straight, size_t *end)
{
    size_t n = 0;
    const uint8_t *at = code;
    while (n < most && !(is_straight && n > 0 && step[n - 1].branches) &&
           cs_disasm_iter(operands->engine, &at, &size, &address, operands->instruction)) {
        step[n].has_operand = hm_operand_take(operands->instruction, &step[n].operand);
        step[n].branches = branches(operands->engine, operands->instruction);
        step[n++].written = find_written(operands->engine, operands->instruction);
    }
    *end = (size_t)(at - code);
    return n;
}

/*
 * Decodes the instructions before `code`. Where the first of them begins is not known. But decoding from a wrong place
 * soon falls in with the right one: so the farthest place is taken from which an instruction ends where it should.
 */
static size_t decode_before(struct hm_operands *operands, const uint8_t *code, size_t size, uint64_t address,
                            struct step step[HM_OPERAND_BEFORE])
{
    for (size_t back = size; back >= 1; back--) {
        size_t end, n = decode(operands, code - back, back, address - back, step, HM_OPERAND_BEFORE, false, &end);
        if (n > 0 && end == back)
            return n;
    }
    return 0;
}

static bool needs(const struct hm_operand *operand, uint64_t written)
{
    return (operand->base != HM_OPERAND_NONE && written >> operand->base & 1) ||
           (operand->index != HM_OPERAND_NONE && written >> operand->index & 1);
}

/* The operand of a step, if no register that it needs was written in between. Else NULL. */
static const struct hm_operand *usable(const struct step *step, uint64_t written)
{
    const struct hm_operand *operand = &step->operand;
    return step->has_operand && operand->is_known && !needs(operand, written) ? operand : NULL;
}

/* The operand of the last instruction before the place that has a usable one. */
static const struct hm_operand *find_before(const struct step *step, size_t n)
{
    const struct hm_operand *found = NULL;
    uint64_t written = 0;
    for (size_t distance = 1; !found && distance <= DISTANCE && distance <= n; distance++) {
        if (step[n - distance].branches)
            break;
        written |= step[n - distance].written;
        found = usable(&step[n - distance], written);
    }
    return found;
}

/* The operand of the first instruction from the place on that has a usable one. */
static const struct hm_operand *find_after(const struct step *step, size_t n)
{
    const struct hm_operand *found = NULL;
    uint64_t written = 0;
    for (size_t i = 0; !found && i < n; i++) {
        found = usable(&step[i], written);
        written |= step[i].written;
    }
    return found;
}

struct hm_operand hm_operands_find(struct hm_operands *operands, const struct hm_operand_code *code)
{
    struct step step[HM_OPERAND_BEFORE];
    const struct hm_operand *found = NULL;
    if (code->before <= HM_OPERAND_BEFORE && code->after <= HM_OPERAND_AFTER) {
        const uint8_t *here = code->byte + code->before;
        size_t end, n = decode_before(operands, here, code->before, code->address, step);
        found = find_before(step, n);
        if (!found) {
            n = decode(operands, here, code->after, code->address, step, DISTANCE, true, &end);
            found = find_after(step, n);
        }
    }
    return found ? *found : (struct hm_operand){.is_known = 0};
}
