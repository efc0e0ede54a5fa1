/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: what a thread does from a place in its code on, up to the next access to memory. With the thread's registers
 * at that place, a route tells the address. So addresses are known on every machine: no hardware has to sample them.
 * The program hybridmem-decode makes routes of machine code (migrator/decode). Its messages are defined here: it gets
 * up to HM_ROUTE_BATCH of struct hm_route_code, and answers with a struct hm_route for each, without the steps that
 * this one does not have. Pure.
 */
#ifndef HM_MIGRATOR_PERF_ROUTE_H
#define HM_MIGRATOR_PERF_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of code that are looked at, at most: before the instruction that comes next, and from it on. */
#define HM_ROUTE_BEFORE 512
#define HM_ROUTE_AFTER 512
#define HM_ROUTE_BATCH 16 /* pieces of code in a message, at most */
#define HM_ROUTE_STEPS 63 /* of a route, at most; 63 as the next step is the end */

/* The registers that an address can be made of, numbered in the order in which a sample has them. */
#if defined(__x86_64__)
#define HM_ROUTE_REGS 16                   /* ax bx cx dx si di bp sp r8 ... r15 */
#define HM_ROUTE_MASK UINT64_C(0x00ff00ff) /* their bits in perf_event_attr.sample_regs_user */
#else
#define HM_ROUTE_REGS 32 /* x0 ... x30, sp */
#define HM_ROUTE_MASK UINT64_C(0xffffffff)
#endif
/* Steps have these besides, so that each has three of them, and none needs to be asked for. */
enum {
    HM_ROUTE_SPARE = HM_ROUTE_REGS, /* for the steps that an instruction is made of */
    HM_ROUTE_ZERO,                  /* always 0 */
    HM_ROUTE_VALUE,                 /* the step's value */
    HM_ROUTE_PLACE,                 /* the address of the place where the route begins */
    HM_ROUTE_NOWHERE,               /* what is written there is not kept */
    HM_ROUTE_SLOTS
};

/* A piece of code, wherever it is: its route is the same for all processes that execute it. */
struct hm_route_code {
    uint16_t before, after; /* bytes that are there before and from the instruction on that comes next */
    uint8_t byte[HM_ROUTE_BEFORE + HM_ROUTE_AFTER];
};

/* What a step does with its registers. */
enum hm_route_op {
    HM_ROUTE_SET, /* to = right */
    HM_ROUTE_ADD, /* to = left + right, and so on */
    HM_ROUTE_SUB,
    HM_ROUTE_AND,
    HM_ROUTE_OR,
    HM_ROUTE_XOR,
    HM_ROUTE_SHL,
    HM_ROUTE_SHR,
    HM_ROUTE_SAR, /* the sign stays */
    HM_ROUTE_MUL,
    HM_ROUTE_MULHI,  /* the upper half of the product without signs */
    HM_ROUTE_LEA,    /* to = value + left + right * scale */
    HM_ROUTE_CMOV,   /* to = right, if the condition holds */
    HM_ROUTE_LOSE,   /* the registers in `value`, as bits, are no longer known */
    HM_ROUTE_JUMP,   /* on to step `next` */
    HM_ROUTE_BRANCH, /* on to step `next`, if the condition holds */
    HM_ROUTE_ACCESS, /* the address is value + left + right * scale: the end, unless a register is not known */
    HM_ROUTE_OPS
};

/* What is known of the comparison that conditions ask for, after a step. */
enum hm_route_flags {
    HM_ROUTE_KEEP,    /* what was known before */
    HM_ROUTE_COMPARE, /* left compared with right */
    HM_ROUTE_RESULT,  /* the result compared with 0 */
    HM_ROUTE_SIGN,    /* the same, but only its sign, and whether it is 0 */
    HM_ROUTE_LOST     /* nothing */
};

/* Conditions have the numbers that x86 gives them. An odd one is the contrary of the one before. */
enum hm_route_condition {
    HM_ROUTE_BELOW = 2, /* without signs */
    HM_ROUTE_EQUAL = 4,
    HM_ROUTE_NOT_ABOVE = 6, /* without signs */
    HM_ROUTE_NEGATIVE = 8,
    HM_ROUTE_LESS = 12,
    HM_ROUTE_NOT_GREATER = 14,
    HM_ROUTE_CONDITIONS = 16 /* those that are not named here are never known */
};

struct hm_route_step {
    uint64_t value;
    uint8_t op;              /* enum hm_route_op */
    uint8_t bits;            /* of the operands: 8, 16, 32 or 64 */
    uint8_t to, left, right; /* registers */
    uint8_t scale;           /* 1 to 128 */
    uint8_t flags : 4, condition : 4;
    uint8_t next : 6, is_load : 1, is_store : 1; /* of an access: both 0: not known which; both 1: it is both */
};

/* Steps are done in order. A route ends at an access, or past its last step: then no address is known. */
struct hm_route {
    uint32_t n;
    struct hm_route_step step[HM_ROUTE_STEPS];
};

/* The bytes of a route in a message. */
static inline size_t hm_route_size(const struct hm_route *route)
{
    return offsetof(struct hm_route, step) + route->n * sizeof(route->step[0]);
}

/* Could these `size` bytes be a route? The program that made it has read code that a user wrote. */
bool hm_route_is_sound(const struct hm_route *route, size_t size);

/* Takes `n` routes from a message of `size` bytes. Returns whether all of them are sound, and nothing else is there. */
bool hm_route_unpack(const uint8_t *message, size_t size, struct hm_route *route, size_t n);

/*
 * Follows a sound route from `place` with the thread's HM_ROUTE_REGS registers. Returns the step that accesses memory,
 * and the address in *address; or NULL if none does whose address is known, or the way to it is too long.
 */
const struct hm_route_step *hm_route_follow(const struct hm_route *route, uint64_t place, const uint64_t *reg,
                                            uint64_t *address);

#endif
