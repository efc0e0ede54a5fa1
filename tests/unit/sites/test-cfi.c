/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the rules of return addresses that are read from tables for exceptions, for each machine on any. What compares
 * them with what the unwinder does is tests/cli/test_sites_walk.py, and tests/arm64. */
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

/* Instructions, by the standard's numbers. The data factor is -8. */
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

#define COMMA ,

struct row {
    const char *name;
    struct bytes cie, code; /* without the lengths of the entries */
    unsigned at;            /* the return address, after the begin of the function */
    struct hm_cfi_rule rule;
};

/* Code factor 1; the program begins with the frame's end 8 after the stack pointer (7), and the return address (16) in
 * the word before it. */
#define START 0x0c, 7, 8, SAVED(16, 1)
#define CIE(version, letters, ...) BYTES(0, 0, 0, 0, (version), letters, 0, 1, 0x78, 16, __VA_ARGS__)
#define NORMAL CIE(1, 'z' COMMA 'R', 1, 0x1b, START)

static const struct row rows_x86_64[] = {
    {"as it begins", NORMAL, BYTES(0), 5, {HM_CFI_BY_STACK, 8, -8, 0}},
    {"a frame", NORMAL, BYTES(ADVANCE(4), END_AT(32)), 5, {HM_CFI_BY_STACK, 32, -8, 0}},
    {"not yet", NORMAL, BYTES(ADVANCE(5), END_AT(32)), 5, {HM_CFI_BY_STACK, 8, -8, 0}},
    {"frame pointer",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(3), END_BY(6)),
     9,
     {HM_CFI_BY_FRAME, 16, -8, -8}},
    {"as another register",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(1), END_AT(24), SAVED(3, 3), ADVANCE(4), END_AT(48)),
     9,
     {HM_CFI_BY_STACK, 48, -8, -8}},
    {"after an early end",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(1), REMEMBER, RESTORED(6), END_AT(8), ADVANCE(1), RECALL),
     9,
     {HM_CFI_BY_STACK, 16, -8, -8}},
    {"in an early end",
     NORMAL,
     BYTES(ADVANCE(1), END_AT(16), SAVED(6, 2), ADVANCE(1), REMEMBER, RESTORED(6), END_AT(8), ADVANCE(9), RECALL),
     9,
     {HM_CFI_BY_STACK, 8, -8, 0}},
    {"advance by 1, 2 and 4 bytes",
     NORMAL,
     BYTES(2, 1, END_AT(16), 3, 1, 0, END_AT(24), 4, 1, 0, 0, 0, END_AT(32)),
     4,
     {HM_CFI_BY_STACK, 32, -8, 0}},
    {"signed offsets", NORMAL, BYTES(0x12, 7, 0x7e, 0x11, 6, 2), 1, {HM_CFI_BY_STACK, 16, -8, -8}},
    {"bytes of arguments", NORMAL, BYTES(0x2e, 16, END_AT(32)), 1, {HM_CFI_BY_STACK, 32, -8, 0}},
    {"of other registers", NORMAL, BYTES(0x10, 3, 2, 0x76, 0, 0x09, 12, 13), 1, {HM_CFI_BY_STACK, 8, -8, 0}},
    {"with a personality and data of the language",
     CIE(1, 'z' COMMA 'P' COMMA 'L' COMMA 'R', 7, 0x1b, 1, 2, 3, 4, 0x1b, 0x1b, START),
     BYTES(END_AT(32)),
     1,
     {HM_CFI_BY_STACK, 32, -8, 0}},
    {"version 3", CIE(3, 'z' COMMA 'R', 1, 0x1b, START), BYTES(END_AT(32)), 1, {HM_CFI_BY_STACK, 32, -8, 0}},
    {"an aligned frame with an array",
     NORMAL,
     BYTES(0x0c, 10, 0, 0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x58, 0x06),
     1,
     {HM_CFI_BY_WORD, 40, -8, 0}},
    {"the same where the frame pointer is as ever", NORMAL, BYTES(0x0f, 3, 0x76, 0x58, 0x06), 1, {.kind = HM_CFI_HARD}},
    {"in no word", NORMAL, BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 2, 0x76, 0x58), 1, {.kind = HM_CFI_HARD}},
    {"the word is behind the frame pointer",
     NORMAL,
     BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 8, 0x06),
     1,
     {.kind = HM_CFI_HARD}},
    {"nothing has called it", NORMAL, BYTES(0x07, 16), 1, {.kind = HM_CFI_ENDS}},
    {"an expression", NORMAL, BYTES(0x0f, 2, 0x77, 8), 1, {.kind = HM_CFI_HARD}},
    {"an expression of the frame pointer", NORMAL, BYTES(0x10, 6, 2, 0x76, 0), 1, {.kind = HM_CFI_HARD}},
    {"the stack pointer is saved", NORMAL, BYTES(SAVED(7, 3)), 1, {.kind = HM_CFI_HARD}},
    {"the return address is elsewhere", NORMAL, BYTES(SAVED(16, 2)), 1, {.kind = HM_CFI_HARD}},
    {"the return address is in a register", NORMAL, BYTES(0x09, 16, 1), 1, {.kind = HM_CFI_HARD}},
    {"by another register", NORMAL, BYTES(END_BY(10)), 1, {.kind = HM_CFI_HARD}},
    {"not whole words", NORMAL, BYTES(END_AT(12)), 1, {.kind = HM_CFI_HARD}},
    {"too large", NORMAL, BYTES(0x0e, (char)0x88, (char)0x80, (char)0x80, 1), 1, {.kind = HM_CFI_HARD}},
    {"saved too deep", NORMAL, BYTES(SAVED(6, 65)), 1, {.kind = HM_CFI_HARD}},
    {"saved where the return address is", NORMAL, BYTES(SAVED(6, 1)), 1, {.kind = HM_CFI_HARD}},
    {"nothing was remembered", NORMAL, BYTES(RECALL), 1, {.kind = HM_CFI_HARD}},
    {"too much is remembered",
     NORMAL,
     BYTES(REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER),
     1,
     {.kind = HM_CFI_HARD}},
    {"unknown instruction", NORMAL, BYTES(0x2d), 1, {.kind = HM_CFI_HARD}},
    {"a signal's frame", CIE(1, 'z' COMMA 'R' COMMA 'S', 1, 0x1b, START), BYTES(0), 1, {.kind = HM_CFI_HARD}},
    {"unknown letter", CIE(1, 'z' COMMA 'R' COMMA 'Y', 1, 0x1b, START), BYTES(0), 1, {.kind = HM_CFI_HARD}},
    {"a letter of arm64", CIE(1, 'z' COMMA 'R' COMMA 'B', 1, 0x1b, START), BYTES(0), 1, {.kind = HM_CFI_HARD}},
    {"addresses of no fixed length", CIE(1, 'z' COMMA 'R', 1, 0x01, START), BYTES(0), 1, {.kind = HM_CFI_HARD}},
    {"unknown version", CIE(4, 'z' COMMA 'R', 1, 0x1b, START), BYTES(0), 1, {.kind = HM_CFI_HARD}},
};

/* Code factor 4; the program begins with the frame's end at the stack pointer (31), and the return address in its
 * register (30). */
#define START_ARM64 0x0c, 31, 0
#define CIE_ARM64(letters) BYTES(0, 0, 0, 0, 1, letters, 0, 4, 0x78, 30, 1, 0x1b, START_ARM64)
#define NORMAL_ARM64 CIE_ARM64('z' COMMA 'R')
#define RECORD(words) SAVED(29, (words)), SAVED(30, (words)-1)
#define END_AT_1024 END_AT((char)0x80), 8

static const struct row rows_arm64[] = {
    {"a frame record",
     NORMAL_ARM64,
     BYTES(ADVANCE(1), END_AT(48), RECORD(6), ADVANCE(2), SAVED(19, 4)),
     8,
     {HM_CFI_BY_STACK, 48, -40, -8}},
    {"as it begins", NORMAL_ARM64, BYTES(ADVANCE(1), END_AT(48), RECORD(6)), 4, {.kind = HM_CFI_HARD}},
    {"by the frame pointer", NORMAL_ARM64, BYTES(0x0c, 29, 16, RECORD(2)), 1, {HM_CFI_BY_FRAME, 16, -8, -8}},
    {"a frame record where a large frame begins",
     NORMAL_ARM64,
     BYTES(END_AT_1024, SAVED(29, (char)0x80), 1, SAVED(30, 127)),
     1,
     {HM_CFI_BY_STACK, 1024, 8, -8}},
    {"behind the arguments of calls",
     NORMAL_ARM64,
     BYTES(END_AT_1024, SAVED(29, 98), SAVED(30, 97)),
     1,
     {HM_CFI_BY_STACK, 1024, 248, -8}},
    {"where it ends", NORMAL_ARM64, BYTES(END_AT_1024, RECORD(33)), 1, {HM_CFI_BY_STACK, 1024, -256, -8}},
    {"neither here nor there", NORMAL_ARM64, BYTES(END_AT_1024, RECORD(64)), 1, {.kind = HM_CFI_HARD}},
    {"before the frame begins", NORMAL_ARM64, BYTES(END_AT(16), RECORD(40)), 1, {.kind = HM_CFI_HARD}},
    {"after it ends", NORMAL_ARM64, BYTES(END_AT(16), 0x11, 30, 0x7e), 1, {.kind = HM_CFI_HARD}},
    {"the return address alone", NORMAL_ARM64, BYTES(END_AT(16), SAVED(30, 2)), 1, {HM_CFI_BY_STACK, 16, -16, 0}},
    {"the frame pointer is another register",
     NORMAL_ARM64,
     BYTES(END_AT(64), SAVED(30, 8), SAVED(29, 1)),
     1,
     {HM_CFI_BY_STACK, 64, -64, 56}},
    {"far from the return address",
     NORMAL_ARM64,
     BYTES(END_AT(96), SAVED(30, 10), SAVED(29, 1)),
     1,
     {.kind = HM_CFI_HARD}},
    {"the return address is signed",
     NORMAL_ARM64,
     BYTES(ADVANCE(1), 0x2d, ADVANCE(1), END_AT(32), RECORD(4)),
     12,
     {HM_CFI_BY_STACK, 32, -24, -8}},
    {"by the other key",
     CIE_ARM64('z' COMMA 'R' COMMA 'B'),
     BYTES(0x2d, END_AT(32), RECORD(4)),
     1,
     {HM_CFI_BY_STACK, 32, -24, -8}},
    {"the stack's memory is marked",
     CIE_ARM64('z' COMMA 'R' COMMA 'G'),
     BYTES(END_AT(32), RECORD(4)),
     1,
     {.kind = HM_CFI_HARD}},
    {"a register of vectors", NORMAL_ARM64, BYTES(END_AT(32), RECORD(4), 5, 72, 2), 1, {HM_CFI_BY_STACK, 32, -24, -8}},
    {"by the length of vectors",
     NORMAL_ARM64,
     BYTES(RECORD(4), 0x0f, 9, (char)0x8f, 0, 0x92, 46, 0, 0x11, 16, 0x1e, 0x22),
     1,
     {.kind = HM_CFI_HARD}},
    {"nothing has called it", NORMAL_ARM64, BYTES(0x07, 30), 1, {.kind = HM_CFI_ENDS}},
    {"not whole steps", NORMAL_ARM64, BYTES(END_AT(24), RECORD(3)), 1, {.kind = HM_CFI_HARD}},
    {"of another machine", NORMAL, BYTES(0), 1, {.kind = HM_CFI_HARD}},
};

static const struct {
    const struct hm_machine *machine;
    const struct row *row;
    size_t n;
} tables[] = {
    {&hm_machine_x86_64, rows_x86_64, N_ROWS(rows_x86_64)},
    {&hm_machine_arm64, rows_arm64, N_ROWS(rows_arm64)},
};

static void put(unsigned char *to, uint32_t value)
{
    memcpy(to, &value, sizeof(value));
}

/* The rule by entries of which the CIE has `cie_bytes`, and the other `code_bytes` of instructions. The memory ends
 * with one of them, so that sanitizers see a read beyond it. */
static struct hm_cfi_rule find(const struct hm_machine *machine, const struct row *row, size_t cie_bytes,
                               size_t code_bytes, bool cie_is_last)
{
    size_t fde_bytes = 4 + 8 + 1 + code_bytes; /* to the CIE, the range of code, no data of the language */
    unsigned char *memory = calloc(1, 4 + cie_bytes + 4 + fde_bytes), *cie = memory, *fde = memory;
    assert_non_null(memory);
    if (cie_is_last)
        cie += 4 + fde_bytes;
    else
        fde += 4 + cie_bytes;
    put(cie, (uint32_t)cie_bytes);
    memcpy(cie + 4, row->cie.at, cie_bytes);
    put(fde, (uint32_t)fde_bytes);
    put(fde + 4, (uint32_t)(fde + 4 - cie));
    memcpy(fde + 4 + 4 + 8 + 1, row->code.at, code_bytes);
    struct hm_cfi_rule rule = hm_cfi_find(machine, fde, FUNCTION, FUNCTION + row->at);
    free(memory);
    return rule;
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_ROWS(tables); t++)
        for (size_t i = 0; i < tables[t].n; i++) {
            const struct row *row = &tables[t].row[i];
            struct hm_cfi_rule rule = find(tables[t].machine, row, row->cie.n, row->code.n, false);
            if (rule.kind != row->rule.kind || rule.frame_bytes != row->rule.frame_bytes ||
                rule.next_bytes != row->rule.next_bytes || rule.saved_bytes != row->rule.saved_bytes)
                fail_msg("%s: %d %jd %jd %jd", row->name, (int)rule.kind, (intmax_t)rule.frame_bytes,
                         (intmax_t)rule.next_bytes, (intmax_t)rule.saved_bytes);
        }
}

static void test_entries_that_are_cut_off(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_ROWS(tables); t++)
        for (size_t i = 0; i < tables[t].n; i++) {
            const struct row *row = &tables[t].row[i];
            for (size_t n = 0; n < row->cie.n; n++)
                find(tables[t].machine, row, n, row->code.n, true);
            for (size_t n = 0; n < row->code.n; n++)
                find(tables[t].machine, row, row->cie.n, n, false);
        }
}

static void test_rules_fit_in_a_word(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_ROWS(tables); t++) {
        const struct hm_machine *machine = tables[t].machine;
        unsigned sizes = machine->frame.bits + machine->next.bits + machine->saved.bits;
        assert_in_range(HM_MACHINE_KIND_BITS + sizes + machine->code_bits - HM_MACHINE_SET_BITS, 0, 64);
        assert_in_range(HM_CFI_HARD, 0, (1 << HM_MACHINE_KIND_BITS) - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_entries_that_are_cut_off),
        cmocka_unit_test(test_rules_fit_in_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
