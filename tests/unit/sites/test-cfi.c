/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the rules of return addresses that are read from tables for exceptions. tests/cli/test_sites_walk.py compares
 * them with what the unwinder does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sites/record/cfi.h"
#include "unit/lib/rows.h"

#define FUNCTION ((uintptr_t)0x1000)
#define MOST 64

/* Instructions, by the standard's numbers. Code factor 1, data factor -8; the program begins with the frame's end 8
 * after the stack pointer (7), and the return address (16) in the word before it. */
#define ADVANCE(n) (char)(0x40 + (n))
#define SAVED(number, words) (char)(0x80 + (number)), (words)
#define RESTORED(number) (char)(0xc0 + (number))
#define END_AT(bytes) 0x0e, (bytes)
#define END_BY(number) 0x0d, (number)
#define REMEMBER 0x0a
#define RECALL 0x0b

struct bytes {
    size_t n;
    char at[MOST];
};
#define BYTES(...)                                                                                                     \
    {                                                                                                                  \
        sizeof((char[]){__VA_ARGS__}),                                                                                 \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

#define START 0x0c, 7, 8, SAVED(16, 1)
#define CIE(version, letters, ...) BYTES(0, 0, 0, 0, (version), letters, 0, 1, 0x78, 16, __VA_ARGS__)
#define NORMAL CIE(1, 'z' COMMA 'R', 1, 0x1b, START)
#define COMMA ,

static const struct {
    const char *name;
    struct bytes cie, code; /* without the lengths of the entries */
    unsigned at;            /* the return address, after the begin of the function */
    struct hm_cfi_rule rule;
} rows[] = {
    {"as it begins", NORMAL, BYTES(0), 5, {HM_CFI_BY_STACK, 8, 0}},
    {"a frame", NORMAL, BYTES(ADVANCE(4), END_AT(32)), 5, {HM_CFI_BY_STACK, 32, 0}},
    {"not yet", NORMAL, BYTES(ADVANCE(5), END_AT(32)), 5, {HM_CFI_BY_STACK, 8, 0}},
    {"frame pointer",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(3), END_BY(6)),
     9,
     {HM_CFI_BY_FRAME, 16, 16}},
    {"as another register",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(1), END_AT(24), SAVED(3, 3), ADVANCE(4), END_AT(48)),
     9,
     {HM_CFI_BY_STACK, 48, 16}},
    {"after an early end",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(1), REMEMBER, RESTORED(6), END_AT(8), ADVANCE(1), RECALL),
     9,
     {HM_CFI_BY_STACK, 16, 16}},
    {"in an early end",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(1), REMEMBER, RESTORED(6), END_AT(8), ADVANCE(9), RECALL),
     9,
     {HM_CFI_BY_STACK, 8, 0}},
    {"advance by 1, 2 and 4 bytes",
     NORMAL,
     BYTES(2, 1, END_AT(16), 3, 1, 0, END_AT(24), 4, 1, 0, 0, 0, END_AT(32)),
     4,
     {HM_CFI_BY_STACK, 32, 0}},
    {"signed offsets", NORMAL, BYTES(0x12, 7, 0x7e, 0x11, 6, 2), 1, {HM_CFI_BY_STACK, 16, 16}},
    {"bytes of arguments", NORMAL, BYTES(0x2e, 16, END_AT(32)), 1, {HM_CFI_BY_STACK, 32, 0}},
    {"of other registers", NORMAL, BYTES(0x10, 3, 2, 0x76, 0, 0x09, 12, 13), 1, {HM_CFI_BY_STACK, 8, 0}},
    {"with a personality and data of the language",
     CIE(1, 'z' COMMA 'P' COMMA 'L' COMMA 'R', 7, 0x1b, 1, 2, 3, 4, 0x1b, 0x1b, START),
     BYTES(END_AT(32)),
     1,
     {HM_CFI_BY_STACK, 32, 0}},
    {"version 3", CIE(3, 'z' COMMA 'R', 1, 0x1b, START), BYTES(END_AT(32)), 1, {HM_CFI_BY_STACK, 32, 0}},
    {"an aligned frame with an array",
     NORMAL,
     BYTES(0x0c, 10, 0, 0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x58, 0x06),
     1,
     {HM_CFI_BY_WORD, 40, 0}},
    {"the same where the frame pointer is as ever", NORMAL, BYTES(0x0f, 3, 0x76, 0x58, 0x06), 1, {HM_CFI_HARD, 0, 0}},
    {"in no word", NORMAL, BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 2, 0x76, 0x58), 1, {HM_CFI_HARD, 0, 0}},
    {"the word is behind the frame pointer",
     NORMAL,
     BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 8, 0x06),
     1,
     {HM_CFI_HARD, 0, 0}},
    {"nothing has called it", NORMAL, BYTES(0x07, 16), 1, {HM_CFI_ENDS, 0, 0}},
    {"an expression", NORMAL, BYTES(0x0f, 2, 0x77, 8), 1, {HM_CFI_HARD, 0, 0}},
    {"an expression of the frame pointer", NORMAL, BYTES(0x10, 6, 2, 0x76, 0), 1, {HM_CFI_HARD, 0, 0}},
    {"the stack pointer is saved", NORMAL, BYTES(SAVED(7, 3)), 1, {HM_CFI_HARD, 0, 0}},
    {"the return address is elsewhere", NORMAL, BYTES(SAVED(16, 2)), 1, {HM_CFI_HARD, 0, 0}},
    {"the return address is in a register", NORMAL, BYTES(0x09, 16, 1), 1, {HM_CFI_HARD, 0, 0}},
    {"by another register", NORMAL, BYTES(END_BY(10)), 1, {HM_CFI_HARD, 0, 0}},
    {"not whole words", NORMAL, BYTES(END_AT(12)), 1, {HM_CFI_HARD, 0, 0}},
    {"too large", NORMAL, BYTES(0x0e, (char)0x88, (char)0x80, (char)0x80, 1), 1, {HM_CFI_HARD, 0, 0}},
    {"saved too deep", NORMAL, BYTES(SAVED(6, 64)), 1, {HM_CFI_HARD, 0, 0}},
    {"nothing was remembered", NORMAL, BYTES(RECALL), 1, {HM_CFI_HARD, 0, 0}},
    {"too much is remembered", NORMAL, BYTES(REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER), 1, {HM_CFI_HARD, 0, 0}},
    {"unknown instruction", NORMAL, BYTES(0x2d), 1, {HM_CFI_HARD, 0, 0}},
    {"a signal's frame", CIE(1, 'z' COMMA 'R' COMMA 'S', 1, 0x1b, START), BYTES(0), 1, {HM_CFI_HARD, 0, 0}},
    {"unknown letter", CIE(1, 'z' COMMA 'R' COMMA 'Y', 1, 0x1b, START), BYTES(0), 1, {HM_CFI_HARD, 0, 0}},
    {"addresses of no fixed length", CIE(1, 'z' COMMA 'R', 1, 0x01, START), BYTES(0), 1, {HM_CFI_HARD, 0, 0}},
    {"unknown version", CIE(4, 'z' COMMA 'R', 1, 0x1b, START), BYTES(0), 1, {HM_CFI_HARD, 0, 0}},
};

static void put(unsigned char *to, uint32_t value)
{
    memcpy(to, &value, sizeof(value));
}

/* The rule by entries of which the CIE has `cie_bytes`, and the other `code_bytes` of instructions. The memory ends
 * with one of them, so that sanitizers see a read beyond it. */
static struct hm_cfi_rule find(size_t row, size_t cie_bytes, size_t code_bytes, bool cie_is_last)
{
    size_t fde_bytes = 4 + 8 + 1 + code_bytes; /* to the CIE, the range of code, no data of the language */
    unsigned char *memory = calloc(1, 4 + cie_bytes + 4 + fde_bytes), *cie = memory, *fde = memory;
    assert_non_null(memory);
    if (cie_is_last)
        cie += 4 + fde_bytes;
    else
        fde += 4 + cie_bytes;
    put(cie, (uint32_t)cie_bytes);
    memcpy(cie + 4, rows[row].cie.at, cie_bytes);
    put(fde, (uint32_t)fde_bytes);
    put(fde + 4, (uint32_t)(fde + 4 - cie));
    memcpy(fde + 4 + 4 + 8 + 1, rows[row].code.at, code_bytes);
    struct hm_cfi_rule rule = hm_cfi_find(fde, FUNCTION, FUNCTION + rows[row].at);
    free(memory);
    return rule;
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_cfi_rule rule = find(i, rows[i].cie.n, rows[i].code.n, false);
        if (rule.kind != rows[i].rule.kind || rule.frame_bytes != rows[i].rule.frame_bytes ||
            rule.saved_bytes != rows[i].rule.saved_bytes)
            fail_msg("%s: %d %u %u", rows[i].name, (int)rule.kind, rule.frame_bytes, rule.saved_bytes);
    }
}

static void test_entries_that_are_cut_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        for (size_t n = 0; n < rows[i].cie.n; n++)
            find(i, n, rows[i].code.n, true);
        for (size_t n = 0; n < rows[i].code.n; n++)
            find(i, rows[i].cie.n, n, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_entries_that_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
