/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which memory operand is found near a place in machine code. The bytes are what GNU as makes of the text beside
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/decode/operands.h"
#include "unit/lib/rows.h"

#define HERE UINT64_C(0x401000)
#define NONE HM_OPERAND_NONE

/* The code around HERE, as hexadecimal text, and the operand. */
struct row {
    const char *text, *before, *after;
    struct hm_operand found;
};

#if defined(__x86_64__)
enum { AX, BX, CX, DX, SI, DI, BP, SP };

static const struct row rows[] = {
    {"mov (%rbx),%rax", "", "488b03", {0, BX, NONE, 1, 1, 1, 0}},
    {"mov %eax,0x10(%rdi,%rcx,8)", "", "8944cf10", {0x10, DI, CX, 8, 1, 0, 1}},
    {"add %rbx,-8(%rax)", "", "480158f8", {-UINT64_C(8), AX, NONE, 1, 1, 1, 1}},
    {"mov 0x10(%rip),%rax", "", "488b0510000000", {HERE + 7 + 0x10, NONE, NONE, 1, 1, 1, 0}},
    {"mov 0x1000,%al", "", "8a042500100000", {0x1000, NONE, NONE, 1, 1, 1, 0}},
    {"vmovupd (%rsi,%rax,8),%ymm0", "", "c5fd1004c6", {0, SI, AX, 8, 1, 1, 0}},
    {"vmovupd %zmm0,(%rsi)", "", "62f1fd481106", {0, SI, NONE, 1, 1, 0, 1}},
    {"vfmadd231pd (%rsi),%ymm2,%ymm0", "", "c4e2edb806", {0, SI, NONE, 1, 1, 1, 0}},
    {"movntdq %xmm0,(%rsi): not read", "", "660fe706", {0, SI, NONE, 1, 1, 0, 1}},
    {"fstpl (%rax): not read", "", "dd18", {0, AX, NONE, 1, 1, 0, 1}},
    {"mov (%r15),%r8", "", "4d8b07", {0, 15, NONE, 1, 1, 1, 0}},
    /* no access, or not by registers that a sample has */
    {"lea (%rax),%rbx; ret", "", "488d18c3", {0}},
    {"nopw 0(%rax,%rax,1); ret", "", "660f1f440000c3", {0}},
    {"prefetcht0 (%rax); ret", "", "0f1808c3", {0}},
    {"mov %fs:0x28,%rax; ret", "", "64488b042528000000c3", {0}},
    {"vgatherdpd %ymm2,(%rax,%xmm1,1),%ymm0; ret", "", "c4e2ed920408c3", {0}},
    {"mov (%eax),%ebx: a 32-bit address; ret", "", "678b18c3", {0}},
    /* the stack does not count */
    {"push %rax; mov 8(%rsp),%rcx; mov (%rbx),%rdx", "", "50488b4c2408488b13", {0, BX, NONE, 1, 1, 1, 0}},
    {"mov (%rsp,%rcx,8),%rax: an array there does", "", "488b04cc", {0, SP, CX, 8, 1, 1, 0}},
    /* later instructions, as long as the registers stay what they are */
    {"add $1,%rcx; mov (%rax),%rbx", "", "4883c101488b18", {0, AX, NONE, 1, 1, 1, 0}},
    {"add $1,%eax; mov (%rax),%rbx; ret", "", "83c001488b18c3", {0}},
    {"mov $1,%al; mov (%rax),%rbx; ret", "", "b001488b18c3", {0}},
    {"jmp .; mov (%rax),%rbx", "", "ebfe488b18", {0}},
    {"call *%rax; mov (%rbx),%rbx", "", "ffd0488b1b", {0}},
    /* the instruction before comes first */
    {"movzbl (%rdx),%eax | sub $1,%r9d; mov (%rcx),%rax", "0fb602", "4183e901488b01", {0, DX, NONE, 1, 1, 1, 0}},
    {"mov (%rax),%rax | mov (%rcx),%rdx: the address is gone", "488b00", "488b11", {0, CX, NONE, 1, 1, 1, 0}},
    {"mov (%rdx),%rbx; add $1,%rcx | ret", "488b1a4883c101", "c3", {0, DX, NONE, 1, 1, 1, 0}},
    {"mov (%rdx),%rbx; add $1,%rdx | ret", "488b1a4883c201", "c3", {0}},
    {"mov (%rdx),%rbx; jne . | ret", "488b1a75fe", "c3", {0}},
    {"call *8(%rax) | ret: what was called has its own registers", "ff5008", "c3", {0}},
    {"(nonsense) mov (%rdx),%rbx | ret", "0f0f0f488b1a", "c3", {0, DX, NONE, 1, 1, 1, 0}},
    {"nothing", "", "", {0}},
    {"(nonsense)", "", "ffff", {0}},
    {"half of mov (%rbx),%rax", "", "488b", {0}},
};
#elif defined(__aarch64__)
static const struct row rows[] = {
    {"ldr x0, [x1]", "", "200040f9", {0, 1, NONE, 1, 1, 1, 0}},
    {"str x0, [x1, #16]", "", "200800f9", {16, 1, NONE, 1, 1, 0, 1}},
    {"ldr x0, [x1, x2, lsl #3]", "", "207862f8", {0, 1, 2, 8, 1, 1, 0}},
    {"ldr d0, [x29, #8]", "", "a00740fd", {8, 29, NONE, 1, 1, 1, 0}},
    {"ldr x0, [x1, w2, sxtw #3]; ret", "", "20d862f8c0035fd6", {0}},
    {"ldr x0, [sp, #8]; ret: the stack does not count", "", "e00740f9c0035fd6", {0}},
    {"prfm pldl1keep, [x0]; ret", "", "000080f9c0035fd6", {0}},
    {"add x3, x3, #1; ldr x0, [x1]", "", "63040091200040f9", {0, 1, NONE, 1, 1, 1, 0}},
    {"add x1, x1, #1; ldr x0, [x1]; ret", "", "21040091200040f9c0035fd6", {0}},
    {"ldr x0, [x1] | ldr x2, [x3]", "200040f9", "620040f9", {0, 1, NONE, 1, 1, 1, 0}},
    {"ldr x1, [x1] | ldr x2, [x3]", "210040f9", "620040f9", {0, 3, NONE, 1, 1, 1, 0}},
    {"ldr x0, [x1], #8 | ret: the address is gone", "208440f8", "c0035fd6", {0}},
    {"b . | ldr x2, [x3]", "00000014", "620040f9", {0, 3, NONE, 1, 1, 1, 0}},
    {"nothing", "", "", {0}},
};
#else
#error "which registers does perf have here?"
#endif

static uint8_t take(const char *hex, uint8_t *byte)
{
    uint8_t n = 0;
    for (unsigned value; sscanf(hex + 2 * (size_t)n, "%2x", &value) == 1; n++)
        byte[n] = (uint8_t)value;
    return n;
}

static void test_operands(void **state)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_operand_code code = {.address = HERE};
        code.before = take(rows[i].before, code.byte);
        code.after = take(rows[i].after, code.byte + code.before);
        struct hm_operand found = hm_operands_find(*state, &code);
        const struct hm_operand *right = &rows[i].found;
        if (found.is_known != right->is_known ||
            (found.is_known &&
             (found.offset != right->offset || found.base != right->base || found.index != right->index ||
              found.scale != right->scale || found.is_load != right->is_load || found.is_store != right->is_store)))
            fail_msg("%s: known %d, %#llx, base %d, index %d * %d, load %d, store %d", rows[i].text, found.is_known,
                     (unsigned long long)found.offset, found.base, found.index, found.scale, found.is_load,
                     found.is_store);
    }
}

static void test_bad_sizes(void **state)
{
    struct hm_operand_code code = {.address = HERE, .before = HM_OPERAND_BEFORE + 1, .after = HM_OPERAND_AFTER};
    assert_false(hm_operands_find(*state, &code).is_known);
    code.before = 0;
    code.after = UINT8_MAX;
    assert_false(hm_operands_find(*state, &code).is_known);
}

static void test_address(void **state)
{
    (void)state;
    uint64_t reg[HM_OPERAND_REGS];
    for (uint64_t i = 0; i < HM_OPERAND_REGS; i++)
        reg[i] = 1000 * i;
    assert_int_equal(hm_operand_address(&(struct hm_operand){8, 1, 2, 4, 1, 1, 0}, reg), 9008);
    assert_int_equal(hm_operand_address(&(struct hm_operand){-UINT64_C(8), 3, NONE, 1, 1, 1, 0}, reg), 2992);
    assert_int_equal(hm_operand_address(&(struct hm_operand){0x5000, NONE, NONE, 1, 1, 1, 0}, reg), 0x5000);
    assert_true(hm_operand_is_sound(&(struct hm_operand){0, HM_OPERAND_REGS - 1, NONE, 1, 1, 1, 0}));
    assert_false(hm_operand_is_sound(&(struct hm_operand){0, HM_OPERAND_REGS, NONE, 1, 1, 1, 0}));
    assert_false(hm_operand_is_sound(&(struct hm_operand){0, NONE, HM_OPERAND_REGS, 1, 1, 1, 0}));
}

static int set_up(void **state)
{
    struct hm_error error = {{0}};
    *state = hm_operands_new(&error);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    hm_operands_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_bad_sizes),
        cmocka_unit_test(test_address),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
