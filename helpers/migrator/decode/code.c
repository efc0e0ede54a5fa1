/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>

#include "translate.h"

#define KNOWN 4096   /* instructions that are remembered; a power of two */
#define MOST_SIZE 15 /* bytes of an instruction, at most */
#define BACK 64      /* bytes before a place that are decoded to find where its instructions begin */

struct hm_code {
    csh engine;
    cs_insn *decoded;
    const struct hm_route_code *piece;
    struct hm_instruction known[KNOWN];
};

struct hm_code *hm_code_new(struct hm_error *error)
{
    struct hm_code *code = calloc(1, sizeof(*code));
    if (!code) {
        hm_fail(error, ENOMEM, "no memory to decode instructions");
        return NULL;
    }
    cs_err status = cs_open(HM_DECODE_ARCH, HM_DECODE_MODE, &code->engine);
    if (status == CS_ERR_OK)
        status = cs_option(code->engine, CS_OPT_DETAIL, CS_OPT_ON);
    if (status == CS_ERR_OK)
        code->decoded = cs_malloc(code->engine);
    if (!code->decoded) {
        hm_fail(error, ENOSYS, "capstone cannot decode this processor's instructions: %s", cs_strerror(status));
        hm_code_free(code);
        return NULL;
    }
    return code;
}

void hm_code_free(struct hm_code *code)
{
    if (!code)
        return;
    if (code->decoded)
        cs_free(code->decoded, 1);
    if (code->engine)
        cs_close(&code->engine);
    free(code);
}

void hm_code_choose(struct hm_code *code, const struct hm_route_code *piece)
{
    code->piece = piece;
}

static struct hm_instruction *find(struct hm_code *code, uint64_t address)
{
    uint64_t mixed = (address ^ (uint64_t)code->piece->pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &code->known[mixed >> 32 & (KNOWN - 1)];
}

static bool is_it(const struct hm_code *code, const struct hm_instruction *instruction, uint64_t address)
{
    return instruction->size > 0 && instruction->address == address && instruction->pid == code->piece->pid;
}

/* The registers that the instruction writes, as bits; all of them if that is not known. */
static uint64_t find_written(const struct hm_code *code)
{
    cs_regs read, write;
    uint8_t n_read, n_written;
    uint64_t written = 0;
    if (cs_regs_access(code->engine, code->decoded, read, &n_read, write, &n_written) != CS_ERR_OK)
        return UINT64_MAX;
    for (uint8_t i = 0; i < n_written; i++) {
        uint8_t number = hm_translate_reg(write[i]);
        if (number != HM_ROUTE_NOWHERE)
            written |= UINT64_C(1) << number;
    }
    return written;
}

const struct hm_instruction *hm_code_at(struct hm_code *code, uint64_t address)
{
    const struct hm_route_code *piece = code->piece;
    uint64_t begin = piece->address - piece->before, at = address - begin;
    size_t all = (size_t)piece->before + piece->after;
    if (at >= all)
        return NULL;
    struct hm_instruction *instruction = find(code, address);
    if (is_it(code, instruction, address))
        return instruction;
    const uint8_t *byte = piece->byte + at;
    size_t left = all - at;
    uint64_t next = address;
    if (!cs_disasm_iter(code->engine, &byte, &left, &next, code->decoded))
        return NULL;
    *instruction = (struct hm_instruction){
        .address = address, .pid = piece->pid, .size = (uint8_t)(next - address), .written = find_written(code)};
    hm_translate(code->engine, code->decoded, instruction);
    return instruction;
}

const struct hm_instruction *hm_code_known_before(struct hm_code *code, uint64_t address)
{
    for (uint64_t size = 1; size <= MOST_SIZE; size++) {
        const struct hm_instruction *instruction = find(code, address - size);
        if (is_it(code, instruction, address - size) && instruction->size == size)
            return instruction;
    }
    return NULL;
}

/* Decodes from `begin` on, only for the sizes of instructions. Returns their number if the last one ends at `end`, and
 * where they begin; else 0. */
static size_t measure(struct hm_code *code, const uint8_t *byte, uint64_t begin, uint64_t end, uint64_t start[BACK])
{
    size_t left = end - begin, n = 0;
    for (start[0] = begin; left > 0; start[n] = begin) {
        if (!cs_disasm_iter(code->engine, &byte, &left, &begin, code->decoded))
            return 0;
        if (++n == BACK)
            break;
    }
    return n;
}

void hm_code_look_back(struct hm_code *code)
{
    const struct hm_route_code *piece = code->piece;
    uint64_t start[BACK + 1];
    size_t n = 0;
    cs_option(code->engine, CS_OPT_DETAIL, CS_OPT_OFF);
    for (size_t back = piece->before < BACK ? piece->before : BACK; back > 0 && n == 0; back--)
        n = measure(code, piece->byte + piece->before - back, piece->address - back, piece->address, start);
    cs_option(code->engine, CS_OPT_DETAIL, CS_OPT_ON);
    for (size_t i = 0; i < n; i++)
        hm_code_at(code, start[i]);
}
