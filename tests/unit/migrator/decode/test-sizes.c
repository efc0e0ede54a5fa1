/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how long instructions are taken to be, and that where they begin is found behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/decode/translate.h"
#include "unit/lib/rows.h"

#define MOST 16

#if defined(__x86_64__)
/* An instruction as GNU as makes it, in hexadecimal; or bytes that are none. */
struct row {
    const char *text, *hex;
    bool is_none;
};

static const struct row rows[] = {
    {"add %cl,%al", "00c8", false},
    {"add $1,%al", "0401", false},
    {"add $0x12345678,%eax", "0578563412", false},
    {"add $0x1234,%ax", "66053412", false},
    {"add $0x12345678,%rax: REX.W counts for more than 66", "66480578563412", false},
    {"push %r15", "4157", false},
    {"movslq %eax,%rdx", "4863d0", false},
    {"push $0x12345678", "6878563412", false},
    {"push $1", "6a01", false},
    {"imul $0x12345678,%rax,%rbx", "4869d878563412", false},
    {"imul $3,%rax,%rbx", "486bd803", false},
    {"jne", "75fe", false},
    {"mov (%rax),%rbx", "488b18", false},
    {"mov 8(%rsp),%rax: SIB", "488b442408", false},
    {"mov 0x12345678(%rax,%rbx,4),%rax", "488b849878563412", false},
    {"mov 0x12345678(,%rbx,4),%rax", "488b049d78563412", false},
    {"mov (%rbp,%rbx,4),%rax", "488b449d00", false},
    {"mov 0x10(%rip),%rax", "488b0510000000", false},
    {"movabs $0x1122334455667788,%rax", "48b88877665544332211", false},
    {"mov $0x12345678,%eax", "b878563412", false},
    {"mov $0x1234,%ax", "66b83412", false},
    {"mov $1,%al", "b001", false},
    {"movabs 0x1122334455667788,%al", "a08877665544332211", false},
    {"addr32 mov 0x12345678,%eax", "67a178563412", false},
    {"shl $3,%rax", "48c1e003", false},
    {"ret $8", "c20800", false},
    {"ret", "c3", false},
    {"movl $0x12345678,(%rax)", "c70078563412", false},
    {"movw $0x1234,8(%rax)", "66c740083412", false},
    {"enter $16,$1", "c8100001", false},
    {"fstpl (%rax)", "dd18", false},
    {"loop", "e2fe", false},
    {"call", "e800000000", false},
    {"jmp", "ebfe", false},
    {"lock cmpxchg %rcx,(%rdx)", "f0480fb10a", false},
    {"rep stos %al,(%rdi)", "f3aa", false},
    {"testb $1,(%rax)", "f60001", false},
    {"notb (%rax)", "f610", false},
    {"testl $0x12345678,(%rax)", "f70078563412", false},
    {"mul %rcx", "48f7e1", false},
    {"call *8(%rax)", "ff5008", false},
    {"endbr64", "f30f1efa", false},
    {"nopw 0(%rax,%rax,1)", "660f1f440000", false},
    {"cs nopw 0x0(%rax,%rax,1), padded to the most", "6666666666662e0f1f840000000000", false},
    {"syscall", "0f05", false},
    {"movaps (%rax),%xmm0", "0f2800", false},
    {"pshufb (%rax),%xmm0: 0f38", "660f380000", false},
    {"palignr $4,(%rax),%xmm0: 0f3a", "660f3a0f0004", false},
    {"pshufd $1,%xmm1,%xmm0", "660f70c101", false},
    {"emms", "0f77", false},
    {"je, far", "0f8400000000", false},
    {"sete %al", "0f94c0", false},
    {"shld $4,%rax,%rbx", "480fa4c304", false},
    {"bt $5,%eax", "0fbae005", false},
    {"cmpps $1,%xmm1,%xmm0", "0fc2c101", false},
    {"bswap %eax", "0fc8", false},
    {"vzeroupper", "c5f877", false},
    {"vmovupd (%rsi,%rax,8),%ymm0", "c5fd1004c6", false},
    {"vpshufd $1,%xmm1,%xmm0", "c5f970c101", false},
    {"vfmadd231pd (%rsi),%ymm2,%ymm0: VEX's table 2", "c4e2edb806", false},
    {"vperm2f128 $1,%ymm2,%ymm1,%ymm0: its table 3", "c4e37506c201", false},
    {"vmovupd %zmm0,0x40(%rsi): EVEX", "62f1fd48114601", false},
    {"vpternlogd $0xff,%zmm0,%zmm0,%zmm0", "62f37d4825c0ff", false},
    {"vcvtpd2qq %zmm1,%zmm0", "62f1fd487bc1", false},
    {"vaddph %zmm2,%zmm1,%zmm0: EVEX's table 5", "62f5744858c2", false},
    {"push %es, of 32 bits", "06", true},
    {"EVEX without its bit", "62f1f9001106", true},
    {"EVEX's table 0", "62f0fd481106", true},
    {"VEX's table 0", "c4e0ed1006", true},
    {"VEX with a jump", "c5f88400000000", true},
    {"0f04", "0f04", true},
    {"REX twice", "484889c8", true},
    {"sixteen bytes", "666666666666662e0f1f840000000000", true},
};

static size_t take(const char *hex, uint8_t byte[MOST])
{
    size_t n = 0;
    for (unsigned value; n < MOST && sscanf(hex + 2 * n, "%2x", &value) == 1; n++)
        byte[n] = (uint8_t)value;
    return n;
}

/* A part of an instruction is none. */
static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint8_t byte[MOST] = {0};
        size_t right = take(rows[i].hex, byte);
        for (size_t size = 0; size <= MOST; size++) {
            size_t found = hm_translate_size(byte, size), wanted = rows[i].is_none || size < right ? 0 : right;
            if (found != wanted)
                fail_msg("%s: %zu of %zu bytes", rows[i].text, found, size);
        }
    }
}

extern const uint8_t etext[];
int main(void);

/* The code of this program and of what is linked into it: all that capstone knows is as long as it says. */
static void test_as_capstone_says(void **state)
{
    (void)state;
    csh engine;
    const uint8_t *byte = (const uint8_t *)(uintptr_t)main;
    assert_int_equal(cs_open(HM_DECODE_ARCH, HM_DECODE_MODE, &engine), CS_ERR_OK);
    cs_insn *decoded = cs_malloc(engine);
    size_t n = 0, left = (size_t)(etext - byte);
    for (uint64_t address = 0, before = 0; cs_disasm_iter(engine, &byte, &left, &address, decoded); before = address) {
        size_t size = (size_t)(address - before);
        if (hm_translate_size(byte - size, size + left) != size)
            fail_msg("%s %s: not %zu bytes", decoded->mnemonic, decoded->op_str, size);
        n++;
    }
    cs_free(decoded, 1);
    cs_close(&engine);
    assert_true(n >= 100);
}
#else
static void test_sizes(void **state)
{
    (void)state;
    static const uint8_t byte[MOST];
    for (size_t size = 0; size <= MOST; size++)
        assert_int_equal(hm_translate_size(byte, size), size < 4 ? 0 : 4);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
#if defined(__x86_64__)
        cmocka_unit_test(test_as_capstone_says),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
