/* SPDX-License-Identifier: Apache-2.0 */
/* A library of walk-probe.cc: a function whose frame has FILLED bytes to fill, a multiple of 16. */
    .globl via
    .type via, @function
via:
    .cfi_startproc
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
    ret
    .cfi_endproc
    .size via, . - via
    .section .note.GNU-stack,"",@progbits
