/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory operands of machine code. With the registers of a thread that executes the code, they tell an address that it
 * accesses, on every machine: no hardware has to sample addresses. The program hybridmem-decode finds the operands
 * (migrator/decode). Its messages are defined here: it gets a struct hm_operand_code, and answers with a struct
 * hm_operand. Pure.
 */
#ifndef HM_MIGRATOR_PERF_OPERAND_H
#define HM_MIGRATOR_PERF_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of code that are looked at, at most: before the instruction that comes next, and from it on. */
#define HM_OPERAND_BEFORE 24
#define HM_OPERAND_AFTER 64
#define HM_OPERAND_NONE 255 /* in place of a register's number */

/* The registers that an address can be made of, numbered in the order in which a sample has them. */
#if defined(__x86_64__)
#define HM_OPERAND_REGS 16                   /* ax bx cx dx si di bp sp r8 ... r15 */
#define HM_OPERAND_MASK UINT64_C(0x00ff00ff) /* their bits in perf_event_attr.sample_regs_user */
#else
#define HM_OPERAND_REGS 32 /* x0 ... x30, sp */
#define HM_OPERAND_MASK UINT64_C(0xffffffff)
#endif

/* A piece of a process's code. */
struct hm_operand_code {
    uint64_t address;      /* of the instruction that comes next */
    uint8_t before, after; /* bytes that are there before and from this instruction on */
    uint8_t byte[HM_OPERAND_BEFORE + HM_OPERAND_AFTER];
};

/* An address: offset + register `base` + register `index` * `scale`. */
struct hm_operand {
    uint64_t offset;           /* for code that counts from its own address, that address is in it */
    uint8_t base, index;       /* HM_OPERAND_NONE: there is none */
    uint8_t scale;             /* 1 to 128 */
    uint8_t is_known;          /* 0: no access is near, or the registers do not tell its address */
    uint8_t is_load, is_store; /* both 0: it is not known which of them; both 1: it is both */
};

/* Could this be an operand? The program that found it has read code that a user wrote. */
static inline bool hm_operand_is_sound(const struct hm_operand *operand)
{
    return (operand->base < HM_OPERAND_REGS || operand->base == HM_OPERAND_NONE) &&
           (operand->index < HM_OPERAND_REGS || operand->index == HM_OPERAND_NONE);
}

/* The operand's address, with these HM_OPERAND_REGS registers. */
static inline uint64_t hm_operand_address(const struct hm_operand *operand, const uint64_t *reg)
{
    uint64_t base = operand->base == HM_OPERAND_NONE ? 0 : reg[operand->base];
    uint64_t index = operand->index == HM_OPERAND_NONE ? 0 : reg[operand->index];
    return operand->offset + base + index * operand->scale;
}

#endif
