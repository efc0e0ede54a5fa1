/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs by processor for the walk of stacks (cfi.h, walk.h). The rows of all are there on each machine, for
 * tests; a machine that has HM_MACHINE walks its own stacks by rules. Registers: the ABI of x86-64, section 3.6.2, and
 * "DWARF for the Arm 64-bit Architecture", which also says how return addresses are signed.
 */
#ifndef HM_SITES_RECORD_MACHINE_H
#define HM_SITES_RECORD_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Which sizes there can be: multiples of `step` bytes, 2^bits of them, the least of which is -before * step. */
struct hm_machine_range {
    uint8_t step, bits, before;
};

struct hm_machine {
    uint8_t frame_pointer, stack_pointer, return_address; /* registers, by their numbers in DWARF */
    bool signs_addresses;                                 /* return addresses can have a signature in upper bits */
    uint8_t code_step, code_bits;                         /* addresses of programs are so many steps of so many bytes */
    struct hm_machine_range frame, next, saved;           /* of a rule's sizes */
};

/* A rule is remembered in a word: its kind, its sizes, and as much of its address as its place in a table of 2^11 sets
 * does not tell. */
#define HM_MACHINE_KIND_BITS 3
#define HM_MACHINE_SET_BITS 11

/* A call puts the return address where the frame ends. Larger addresses are there for programs that ask for them. */
static const struct hm_machine hm_machine_x86_64 = {6, 7, 16, false, 1, 47, {8, 18, 0}, {8, 0, 1}, {8, 6, 63}};
/* A function saves the return address itself: GCC near the begin of the frame, Clang near its end, and both behind the
 * frame pointer, unless that is a register as others. */
static const struct hm_machine hm_machine_arm64 = {29, 31, 30, true, 4, 46, {16, 16, 0}, {8, 6, 32}, {8, 4, 8}};

/* Registers of a function that is in a call, or in the code before the address. */
struct hm_machine_frame {
    uintptr_t address, stack_pointer, frame_pointer;
};

#if defined __x86_64__ && defined __LP64__
#define HM_MACHINE hm_machine_x86_64
/* mov $SYS_rt_sigreturn, %rax; syscall */
#define HM_MACHINE_HANDLER_ENDS 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05

/* What called the function that this is in. */
static inline __attribute__((always_inline)) struct hm_machine_frame hm_machine_begin(void)
{
    const uintptr_t *here = __builtin_frame_address(0);
    return (struct hm_machine_frame){here[1], (uintptr_t)(here + 2), here[0]};
}

/* The address without its signature, if it has one. */
static inline uintptr_t hm_machine_unsign(uintptr_t address)
{
    return address;
}

#elif defined __aarch64__ && defined __LP64__ && !defined __AARCH64EB__
#define HM_MACHINE hm_machine_arm64
/* mov x8, #SYS_rt_sigreturn; svc #0 */
#define HM_MACHINE_HANDLER_ENDS 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4

/* The function that this is in, which has to have saved x30. */
static inline __attribute__((always_inline)) struct hm_machine_frame hm_machine_begin(void)
{
    struct hm_machine_frame here;
    __asm__ volatile("mov %1, sp\n\tmov %2, x29\n\tadr %0, 1f\n1:"
                     : "=&r"(here.address), "=&r"(here.stack_pointer), "=&r"(here.frame_pointer)
                     :
                     : "x30");
    return here;
}

/* xpaclri, which does nothing on processors that do not sign. */
static inline uintptr_t hm_machine_unsign(uintptr_t address)
{
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
}
#endif

#endif
