/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the translation of x86-64's instructions. */
#ifndef HM_MIGRATOR_DECODE_X86_H
#define HM_MIGRATOR_DECODE_X86_H

#include "translate.h"

#if defined(__x86_64__)
/* A register's number and bits. Returns false for one that steps do not have: ah, vectors, flags. */
bool hm_x86_reg(unsigned reg, uint8_t *number, uint8_t *bits);
/* Takes base, index, scale and distance of an operand in memory. Returns false if registers do not tell its address. */
bool hm_x86_address(const cs_insn *decoded, const x86_op_mem *memory, struct hm_route_step *step);
/* Makes the steps of an instruction that computes with registers. Returns false if it is none, or not known. */
bool hm_x86_compute(const cs_insn *decoded, struct hm_instruction *instruction);
#endif

#endif
