/* SPDX-License-Identifier: Apache-2.0 */
/* What operands.c has to know of a processor's instructions. There is a file for each kind of processor. */
#ifndef HM_MIGRATOR_DECODE_REGS_H
#define HM_MIGRATOR_DECODE_REGS_H

#include <capstone/capstone.h>

#include "migrator/perf/operand.h"

#if defined(__x86_64__)
#define HM_OPERAND_ARCH CS_ARCH_X86
#define HM_OPERAND_MODE CS_MODE_64
#else
#define HM_OPERAND_ARCH CS_ARCH_ARM64
#define HM_OPERAND_MODE CS_MODE_LITTLE_ENDIAN
#endif

/* The number of capstone's register, or of the one that it is a part of; HM_OPERAND_NONE: no address is made of it. */
uint8_t hm_operand_reg(unsigned reg);
/* Has the instruction a memory operand? Then takes it, with is_known false if registers do not tell its address. */
bool hm_operand_take(const cs_insn *instruction, struct hm_operand *operand);

#endif
