/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which access is found near a place in machine code, and that its address is right. The bytes are what GNU as
 * makes of the text beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/decode/routes.h"
#include "unit/lib/rows.h"

#define HERE UINT64_C(0x401000)
#define R(number) (UINT64_C(0x10000) * ((number) + 1)) /* what a register has in it */

/* An access; not found: no address is known. */
struct access {
    uint64_t address;
    bool is_found, is_load, is_store;
};

/* The code around HERE, as hexadecimal text, and the access. */
struct row {
    const char *text, *before, *after;
    struct access right;
};

#if defined(__x86_64__)
enum { AX, BX, CX, DX, SI, DI, BP, SP };

static const struct row rows[] = {
    {"mov (%rbx),%rax", "", "488b03", {R(BX), true, true, false}},
    {"mov %eax,0x10(%rdi,%rcx,8)", "", "8944cf10", {R(DI) + 0x10 + 8 * R(CX), true, false, true}},
    {"add %rbx,-8(%rax)", "", "480158f8", {R(AX) - 8, true, true, true}},
    {"mov 0x10(%rip),%rax", "", "488b0510000000", {HERE + 7 + 0x10, true, true, false}},
    {"mov 0x1000,%al", "", "8a042500100000", {0x1000, true, true, false}},
    {"vmovupd (%rsi,%rax,8),%ymm0", "", "c5fd1004c6", {R(SI) + 8 * R(AX), true, true, false}},
    {"vmovupd %zmm0,(%rsi)", "", "62f1fd481106", {R(SI), true, false, true}},
    {"vfmadd231pd (%rsi),%ymm2,%ymm0", "", "c4e2edb806", {R(SI), true, true, false}},
    {"movntdq %xmm0,(%rsi): not read", "", "660fe706", {R(SI), true, false, true}},
    {"fstpl (%rax): not read", "", "dd18", {R(AX), true, false, true}},
    {"mov (%r15),%r8", "", "4d8b07", {R(15), true, true, false}},
    /* no access, or not by registers that a sample has */
    {"lea (%rax),%rbx; ret", "", "488d18c3", {0}},
    {"nopw 0(%rax,%rax,1); ret", "", "660f1f440000c3", {0}},
    {"prefetcht0 (%rax); ret", "", "0f1808c3", {0}},
    {"mov %fs:0x28,%rax; ret", "", "64488b042528000000c3", {0}},
    {"vgatherdpd %ymm2,(%rax,%xmm1,1),%ymm0; ret", "", "c4e2ed920408c3", {0}},
    {"mov (%eax),%ebx: a 32-bit address; ret", "", "678b18c3", {0}},
    /* the stack does not count */
    {"push %rax; mov 8(%rsp),%rcx; mov (%rbx),%rdx", "", "50488b4c2408488b13", {R(BX), true, true, false}},
    {"mov (%rsp,%rcx,8),%rax: an array there does", "", "488b04cc", {R(SP) + 8 * R(CX), true, true, false}},
    /* later instructions, as long as the registers stay what they are */
    {"add $1,%rcx; mov (%rax),%rbx", "", "4883c101488b18", {R(AX), true, true, false}},
    {"call *%rax; mov (%rbx),%rbx", "", "ffd0488b1b", {0}},
    /* the instruction before comes first */
    {"movzbl (%rdx),%eax | sub $1,%r9d; mov (%rcx),%rax", "0fb602", "4183e901488b01", {R(DX), true, true, false}},
    {"mov (%rax),%rax | mov (%rcx),%rdx: the address is gone", "488b00", "488b11", {R(CX), true, true, false}},
    {"mov (%rdx),%rbx; add $1,%rcx | ret", "488b1a4883c101", "c3", {R(DX), true, true, false}},
    {"mov (%rdx),%rbx; add $1,%rdx | ret", "488b1a4883c201", "c3", {0}},
    {"mov (%rdx),%rbx; jne . | ret", "488b1a75fe", "c3", {0}},
    {"call *8(%rax) | ret: what was called has its own registers", "ff5008", "c3", {0}},
    {"(nonsense) mov (%rdx),%rbx | ret", "0f0f0f488b1a", "c3", {R(DX), true, true, false}},
    /* one operation after the other */
    {"computed address: shl $6,%rax; add %rbx,%rax; movzbl (%rax),%eax",
     "",
     "48c1e0064801d80fb600",
     {(R(AX) << 6) + R(BX), true, true, false}},
    {"a copy: mov %rcx,%rdx; mov %rax,8(%rdx)", "", "4889ca48894208", {R(CX) + 8, true, false, true}},
    {"the lower half of a register: mov $-1,%ecx; mov (%rcx),%rax",
     "",
     "b9ffffffff488b01",
     {UINT32_MAX, true, true, false}},
    {"a byte of a register: mov $0x12,%al; mov (%rax),%rbx", "", "b012488b18", {R(AX) + 0x12, true, true, false}},
    {"lea: lea -8(%rax,%rcx,4),%rdx; mov (%rdx),%rax",
     "",
     "488d5488f8488b02",
     {R(AX) + 4 * R(CX) - 8, true, true, false}},
    {"and, or, xor, sub: and $0x30000,%rcx; or $5,%rcx; xor $1,%rcx; sub $2,%rcx; mov (%rcx),%rax",
     "",
     "4881e1000003004883c9054883f1014883e902488b01",
     {(R(CX) & 0x30000) + 2, true, true, false}},
    {"inc, dec, not, neg: inc %rax; dec %rax; not %rax; neg %rax; mov (%rax),%rax",
     "",
     "48ffc048ffc848f7d048f7d8488b00",
     {R(AX) + 1, true, true, false}},
    {"shr, sar: mov $-64,%rax; sar $2,%rax; shr $60,%rax; mov (%rax,%rbx),%rcx",
     "",
     "48c7c0c0ffffff48c1f80248c1e83c488b0c18",
     {R(BX) + 15, true, true, false}},
    {"a shift by cl: mov $3,%ecx; shl %cl,%rax; mov (%rax),%rbx",
     "",
     "b90300000048d3e0488b18",
     {R(AX) << 3, true, true, false}},
    {"xor with itself: 0, whatever it was: mov 8(%rsp),%rax; xor %eax,%eax; mov (%rbx,%rax,8),%rcx",
     "",
     "488b44240831c0488b0cc3",
     {R(BX), true, true, false}},
    {"movzx, movsx: mov $0x1ff,%ecx; movzbl %cl,%edx; movsbq %cl,%rcx; add %rdx,%rcx; mov (%rbx,%rcx,1),%rax",
     "",
     "b9ff0100000fb6d1480fbec94801d1488b040b",
     {R(BX) + 254, true, true, false}},
    {"imul: imul %rcx,%rax; imul $3,%rax,%rbx; mov (%rbx),%rcx",
     "",
     "480fafc1486bd803488b0b",
     {3 * R(AX) * R(CX), true, true, false}},
    {"mul: the upper half: movabs $0x8000000000000000,%rax; mul %rcx; mov (%rdx),%rcx",
     "",
     "48b8000000000000008048f7e1488b0a",
     {R(CX) / 2, true, true, false}},
    {"mul of 32 bits: the upper half: mov $0x80000000,%eax; mul %ecx; mov (%rdx),%rcx",
     "",
     "b800000080f7e1488b0a",
     {R(CX) / 2, true, true, false}},
    {"mul: the lower half: mul %rcx; mov (%rax),%rcx", "", "48f7e1488b08", {R(AX) * R(CX), true, true, false}},
    {"cmov: cmp %rax,%rbx; cmova %rcx,%rdx; cmovbe %rcx,%rsi; add %rsi,%rdx; mov (%rdx),%rax",
     "",
     "4839c3480f47d1480f46f14801f2488b02",
     {R(CX) + R(SI), true, true, false}},
    {"setcc: cmp %rax,%rbx; setl %cl; setg %dl; movzbl %cl,%ecx; movzbl %dl,%edx; mov (%rcx,%rdx,8),%rax",
     "",
     "4839c30f9cc10f9fc20fb6c90fb6d2488b04d1",
     {8, true, true, false}},
    {"sbb with itself: cmp %rbx,%rax; sbb %rcx,%rcx; and $-4,%rcx; mov 7(%rcx,%rax),%rdx",
     "",
     "4839d84819c94883e1fc488b540107",
     {R(AX) + 3, true, true, false}},
    {"vectors and numbers do not matter: movsd %xmm1,%xmm0; mulsd %xmm0,%xmm0; add $8,%rax; mov (%rax),%rbx",
     "",
     "f20f10c1f20f59c04883c008488b18",
     {R(AX) + 8, true, true, false}},
    /* what is loaded is not known */
    {"a loaded address: mov 8(%rsp),%rax; mov (%rax),%rbx; mov (%rcx),%rdx",
     "",
     "488b442408488b18488b11",
     {R(CX), true, true, false}},
    {"what is computed of it: mov 8(%rsp),%rax; lea (%rcx,%rax,8),%rdx; mov (%rdx),%rbx; ret",
     "",
     "488b442408488d14c1488b1ac3",
     {0}},
    {"popcnt is not followed: popcnt %rax,%rax; mov (%rax),%rbx; ret", "", "f3480fb8c0488b18c3", {0}},
    {"ah: mov %bl,%ah; mov (%rax),%rbx; ret", "", "88dc488b18c3", {0}},
    /* jumps, branches and loops */
    {"a jump: jmp 1f; ret; 1: mov (%rbx),%rax", "", "eb01c3488b03", {R(BX), true, true, false}},
    {"a jump back: 1: mov (%rbx),%rax | jmp 1b", "488b03", "ebfb", {R(BX), true, true, false}},
    {"a branch that is taken: cmp %rcx,%rax; jb 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "4839c87203488b03488b01",
     {R(CX), true, true, false}},
    {"one that is not: cmp %rcx,%rax; jae 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "4839c87303488b03488b01",
     {R(BX), true, true, false}},
    {"test: test $1,%al; jne 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "a8017503488b03488b01",
     {R(BX), true, true, false}},
    {"a result below 0: sub %rcx,%rax; js 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "4829c87803488b03488b01",
     {R(CX), true, true, false}},
    {"less, with signs: mov $-1,%rax; cmp $1,%rax; jl 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "48c7c0ffffffff4883f8017c03488b03488b01",
     {R(CX), true, true, false}},
    {"not greater, with signs: cmp %rax,%rax; jle 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "4839c07e03488b03488b01",
     {R(CX), true, true, false}},
    {"a loop: 1: add $8,%rax; sub $1,%cl; lea 4(%rax),%rdx; cmp $0x10028,%rax; jne 1b; mov (%rdx),%rbx",
     "",
     "4883c00880e901488d5004483d2800010075ed488b1a",
     {R(AX) + 0x2c, true, true, false}},
    {"a loop that is too long: 1: add $1,%rax; cmp $0x20000,%rax; jne 1b; mov (%rax),%rbx",
     "",
     "4883c001483d0000020075f4488b18",
     {0}},
    {"a loop without end: 1: jmp 1b", "", "ebfe", {0}},
    {"a comparison that was before: jne 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax", "", "7503488b03488b01", {0}},
    {"one of what was loaded: mov 8(%rsp),%rax; test %rax,%rax; je 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "488b4424084885c07403488b03488b01",
     {0}},
    {"nor what sbb leaves: cmp %rbx,%rax; sbb %rcx,%rcx; je 1f; mov (%rbx),%rax; 1: mov (%rax),%rax",
     "",
     "4839d84819c97403488b03488b00",
     {0}},
    {"carry of a sum is not known: add %rcx,%rax; jb 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "4801c87203488b03488b01",
     {0}},
    {"a sum that is not 0: add %rcx,%rax; je 1f; mov (%rbx),%rax; 1: mov (%rcx),%rax",
     "",
     "4801c87403488b03488b01",
     {R(BX), true, true, false}},
    {"nothing", "", "", {0}},
    {"(nonsense)", "", "ffff", {0}},
    {"half of mov (%rbx),%rax", "", "488b", {0}},
};
#elif defined(__aarch64__)
static const struct row rows[] = {
    {"ldr x0, [x1]", "", "200040f9", {R(1), true, true, false}},
    {"str x0, [x1, #16]", "", "200800f9", {R(1) + 16, true, false, true}},
    {"ldr x0, [x1, x2, lsl #3]", "", "207862f8", {R(1) + 8 * R(2), true, true, false}},
    {"ldr d0, [x29, #8]", "", "a00740fd", {R(29) + 8, true, true, false}},
    {"ldr x0, [x1, w2, sxtw #3]; ret", "", "20d862f8c0035fd6", {0}},
    {"ldr x0, [sp, #8]; ret: the stack does not count", "", "e00740f9c0035fd6", {0}},
    {"prfm pldl1keep, [x0]; ret", "", "000080f9c0035fd6", {0}},
    {"add x3, x3, #1; ldr x0, [x1]", "", "63040091200040f9", {R(1), true, true, false}},
    {"add x1, x1, #1; ldr x0, [x1]; ret", "", "21040091200040f9c0035fd6", {0}},
    {"ldr x0, [x1] | ldr x2, [x3]", "200040f9", "620040f9", {R(1), true, true, false}},
    {"ldr x1, [x1] | ldr x2, [x3]", "210040f9", "620040f9", {R(3), true, true, false}},
    {"ldr x0, [x1], #8 | ret: the address is gone", "208440f8", "c0035fd6", {0}},
    {"b . | ldr x2, [x3]", "00000014", "620040f9", {R(3), true, true, false}},
    {"nothing", "", "", {0}},
};
#else
#error "which registers does perf have here?"
#endif

static uint16_t take(const char *hex, uint8_t *byte)
{
    uint16_t n = 0;
    for (unsigned value; sscanf(hex + 2 * (size_t)n, "%2x", &value) == 1; n++)
        byte[n] = (uint8_t)value;
    return n;
}

static struct access find(struct hm_code *code, const struct hm_route_code *piece)
{
    uint64_t reg[HM_ROUTE_REGS], address = 0;
    for (uint64_t i = 0; i < HM_ROUTE_REGS; i++)
        reg[i] = R(i);
    struct hm_route route = hm_routes_find(code, piece);
    assert_true(hm_route_is_sound(&route, hm_route_size(&route)));
    const struct hm_route_step *step = hm_route_follow(&route, HERE, reg, &address);
    return step ? (struct access){address, true, step->is_load, step->is_store} : (struct access){0};
}

static void test_routes(void **state)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_route_code piece = {0};
        piece.before = take(rows[i].before, piece.byte);
        piece.after = take(rows[i].after, piece.byte + piece.before);
        /* The second time, the instructions are known. */
        for (int time = 0; time < 2; time++) {
            struct access found = find(*state, &piece), right = rows[i].right;
            if (found.is_found != right.is_found || found.address != right.address || found.is_load != right.is_load ||
                found.is_store != right.is_store)
                fail_msg("%s: found %d, %#llx, load %d, store %d", rows[i].text, found.is_found,
                         (unsigned long long)found.address, found.is_load, found.is_store);
        }
    }
}

/* The same route serves wherever the code is, and another look at code decodes nothing, also from another place. */
static void test_code_is_decoded_once(void **state)
{
    struct hm_route_code piece = {0}, later;
    struct hm_route route;
    uint64_t reg[HM_ROUTE_REGS] = {0}, address, decoded = hm_code_decoded(*state);
#if defined(__x86_64__)
    enum { FIRST = 7 };
    piece.after = take("488d1d09000000488b0390", piece.byte); /* lea 9(%rip),%rbx; mov (%rbx),%rax; nop */
#else
    enum { FIRST = 4 };
    piece.after = take("63040091200040f91f2003d5", piece.byte); /* add x3, x3, #1; ldr x0, [x1]; nop */
#endif
    route = hm_routes_find(*state, &piece);
    assert_int_equal(hm_code_decoded(*state), decoded + 2);
    assert_non_null(hm_route_follow(&route, HERE, reg, &address));
#if defined(__x86_64__)
    assert_int_equal(address, HERE + 16);
    assert_non_null(hm_route_follow(&route, 0x1000, reg, &address));
    assert_int_equal(address, 0x1010);
#endif
    hm_routes_find(*state, &piece);
    later = piece;
    later.before = FIRST;
    later.after = (uint16_t)(piece.after - FIRST);
    route = hm_routes_find(*state, &later);
    assert_non_null(hm_route_follow(&route, HERE, reg, &address));
    assert_int_equal(hm_code_decoded(*state), decoded + 2);
}

static void test_bad_sizes(void **state)
{
    struct hm_route_code piece = {.before = HM_ROUTE_BEFORE + 1, .after = HM_ROUTE_AFTER};
    assert_int_equal(hm_routes_find(*state, &piece).n, 0);
    piece.before = 0;
    piece.after = UINT16_MAX;
    assert_int_equal(hm_routes_find(*state, &piece).n, 0);
}

/* What a program that reads hostile code could answer. */
static void test_unsound_routes(void **state)
{
    (void)state;
    const struct hm_route_step sound = {.op = HM_ROUTE_ADD, .bits = 64, .to = 0, .left = 1, .right = HM_ROUTE_VALUE};
    struct hm_route route = {.n = 1, .step = {sound}};
    size_t size = hm_route_size(&route);
    assert_true(hm_route_is_sound(&route, size));
    assert_false(hm_route_is_sound(&route, size - 1));
    assert_false(hm_route_is_sound(&route, 2));
    route.n = HM_ROUTE_STEPS + 1;
    assert_false(hm_route_is_sound(&route, sizeof(route)));
    route.n = 1;
    for (size_t i = 0; i < offsetof(struct hm_route_step, scale); i++) {
        route.step[0] = sound;
        ((uint8_t *)&route.step[0])[i] = HM_ROUTE_SLOTS;
        assert_int_equal(hm_route_is_sound(&route, size), i < offsetof(struct hm_route_step, op));
    }
    route.step[0] = sound;
    route.step[0].flags = HM_ROUTE_LOST + 1;
    assert_false(hm_route_is_sound(&route, size));
}

/* Routes in a message, one after the other. */
static void test_messages(void **state)
{
    (void)state;
    const struct hm_route_step sound = {.op = HM_ROUTE_ADD, .bits = 64, .to = 0, .left = 1, .right = HM_ROUTE_VALUE};
    struct hm_route sent[2] = {{.n = 2, .step = {sound, sound}}, {.n = 1, .step = {sound}}}, got[3];
    uint8_t message[3 * sizeof(sent[0])] = {0};
    size_t first = hm_route_size(&sent[0]), size = first + hm_route_size(&sent[1]);
    memcpy(message, &sent[0], first);
    memcpy(message + first, &sent[1], size - first);
    assert_true(hm_route_unpack(message, size, got, 2));
    assert_int_equal(got[0].n, 2);
    assert_int_equal(got[1].n, 1);
    assert_memory_equal(&got[1].step[0], &sound, sizeof(sound));
    for (size_t part = 0; part < size; part++)
        assert_false(hm_route_unpack(message, part, got, 2));
    assert_false(hm_route_unpack(message, size, got, 1)); /* more than was asked for */
    assert_false(hm_route_unpack(message, size, got, 3));
    assert_true(hm_route_unpack(message, size + offsetof(struct hm_route, step), got, 3)); /* an empty one */
    message[first] = HM_ROUTE_STEPS + 1;
    assert_false(hm_route_unpack(message, sizeof(message), got, 2));
    message[first] = 1;
    message[first + offsetof(struct hm_route, step) + offsetof(struct hm_route_step, op)] = HM_ROUTE_OPS;
    assert_false(hm_route_unpack(message, size, got, 2));
}

static int set_up(void **state)
{
    struct hm_error error = {{0}};
    *state = hm_code_new(&error);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    hm_code_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),    cmocka_unit_test(test_code_is_decoded_once),
        cmocka_unit_test(test_bad_sizes), cmocka_unit_test(test_unsound_routes),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
