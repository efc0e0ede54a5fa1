/* SPDX-License-Identifier: Apache-2.0 */
/* What code.c has to know of a processor's instructions. There is a file for each kind of processor. */
#ifndef HM_MIGRATOR_DECODE_TRANSLATE_H
#define HM_MIGRATOR_DECODE_TRANSLATE_H

#include <capstone/capstone.h>

#include "code.h"

#if defined(__x86_64__)
#define HM_DECODE_ARCH CS_ARCH_X86
#define HM_DECODE_MODE CS_MODE_64
#else
#define HM_DECODE_ARCH CS_ARCH_ARM64
#define HM_DECODE_MODE CS_MODE_LITTLE_ENDIAN
#endif

/* The bytes of the instruction that these `size` bytes begin with; 0: they are none. */
size_t hm_translate_size(const uint8_t *byte, size_t size);
/* The number of capstone's register, or of the one that it is a part of; HM_ROUTE_NOWHERE: no address is made of it. */
uint8_t hm_translate_reg(unsigned reg);
/*
 * Makes the steps of the instruction's route, and tells how it goes on. `instruction` has its other fields. The stack
 * does not count as memory: neither instructions like push and call, nor variables at a fixed distance from the stack
 * pointer, which caches always have.
 */
void hm_translate(csh engine, const cs_insn *decoded, struct hm_instruction *instruction);

/* The parts of a translation that processors have in common. */
/* A step with an operation on no registers: it has its value on the right, and writes nowhere. */
struct hm_route_step hm_translate_step(enum hm_route_op op);
void hm_translate_add(struct hm_instruction *instruction, struct hm_route_step step);
/* The instruction's registers are lost, and the last comparison if `flags`. */
void hm_translate_lose(struct hm_instruction *instruction, bool flags);

#endif
