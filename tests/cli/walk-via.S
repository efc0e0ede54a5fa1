/* SPDX-License-Identifier: Apache-2.0 */
/* A library of walk-probe.cc: a function whose frame has FILLED bytes to fill, a multiple of 16. */
    .globl via
    .type via, %function
via:
    .cfi_startproc
#ifdef __x86_64__
    sub $FILLED + 8, %rsp
    .cfi_adjust_cfa_offset FILLED + 8
    mov %rdi, %rdx
    mov %rsi, %rax
    mov %rsp, %rdi
    mov $FILLED / 8 + 1, %ecx
    rep stosq
    call *%rdx
    add $FILLED + 8, %rsp
    .cfi_adjust_cfa_offset -(FILLED + 8)
#else
    sub sp, sp, FILLED + 16
    .cfi_adjust_cfa_offset FILLED + 16
    str x30, [sp, FILLED + 8]
    .cfi_offset x30, -8
    mov x2, FILLED
1:
    sub x2, x2, 8
    str x1, [sp, x2]
    cbnz x2, 1b
    blr x0
    ldr x30, [sp, FILLED + 8]
    .cfi_restore x30
    add sp, sp, FILLED + 16
    .cfi_adjust_cfa_offset -(FILLED + 16)
#endif
    ret
    .cfi_endproc
    .size via, . - via
    .section .note.GNU-stack,"",%progbits
