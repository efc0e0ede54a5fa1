/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "translate.h"

#define KNOWN 4096 /* instructions that are remembered; a power of two */

struct hm_code {
    csh engine;
    cs_insn *decoded;
    const struct hm_route_code *piece;
    uint64_t n_decoded;
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

/* An instruction is known by its bytes and those after it, as it is not known yet how many it has. */
static struct hm_instruction *find(struct hm_code *code, const uint8_t byte[HM_CODE_BYTES])
{
    uint64_t word[2], mixed;
    memcpy(word, byte, sizeof(word));
    mixed = (word[0] ^ (word[1] << 29 | word[1] >> 35)) * UINT64_C(0x9e3779b97f4a7c15);
    return &code->known[mixed >> 32 & (KNOWN - 1)];
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

const struct hm_instruction *hm_code_at(struct hm_code *code, int64_t at)
{
    const struct hm_route_code *piece = code->piece;
    uint8_t there[HM_CODE_BYTES] = {0};
    if (at < -(int64_t)piece->before || at >= piece->after)
        return NULL;
    const uint8_t *byte = piece->byte + piece->before + at;
    size_t left = (size_t)(piece->after - at);
    left = left < HM_CODE_BYTES - 1 ? left : HM_CODE_BYTES - 1;
    memcpy(there, byte, left);
    there[HM_CODE_BYTES - 1] = (uint8_t)left;
    struct hm_instruction *instruction = find(code, there);
    if (memcmp(instruction->byte, there, HM_CODE_BYTES) == 0)
        return instruction->size > 0 ? instruction : NULL;
    uint64_t next = 0;
    *instruction = (struct hm_instruction){0};
    memcpy(instruction->byte, there, HM_CODE_BYTES);
    code->n_decoded++;
    if (!cs_disasm_iter(code->engine, &byte, &left, &next, code->decoded))
        return NULL;
    instruction->size = (uint8_t)next;
    instruction->written = find_written(code);
    hm_translate(code->engine, code->decoded, instruction);
    return instruction;
}

/* Reads from `back` bytes before the place on. Returns the number of instructions if the last one ends at the place,
 * and where they begin; else 0. What has been `tried` led nowhere. */
static size_t measure(const struct hm_route_code *piece, size_t back, bool *tried, uint8_t start[HM_CODE_BACK])
{
    size_t n = 0;
    while (back > 0 && !tried[back - 1]) {
        size_t size = hm_translate_size(piece->byte + piece->before - back, back);
        tried[back - 1] = true;
        if (size == 0)
            return 0;
        start[n++] = (uint8_t)back;
        back -= size;
    }
    return back == 0 ? n : 0;
}

size_t hm_code_look_back(const struct hm_code *code, uint8_t start[HM_CODE_BACK])
{
    size_t n = 0, back = code->piece->before < HM_CODE_BACK ? code->piece->before : HM_CODE_BACK;
    bool tried[HM_CODE_BACK] = {false};
    for (; back > 0 && n == 0; back--)
        n = measure(code->piece, back, tried, start);
    return n;
}

uint64_t hm_code_decoded(const struct hm_code *code)
{
    return code->n_decoded;
}
