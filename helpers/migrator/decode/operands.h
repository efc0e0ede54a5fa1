/* SPDX-License-Identifier: Apache-2.0 */
/* Finds memory operands in machine code. Capstone decodes the instructions: it knows all of each processor's, and is
 * packaged where nodes run. */
#ifndef HM_MIGRATOR_DECODE_OPERANDS_H
#define HM_MIGRATOR_DECODE_OPERANDS_H

#include "base/error.h"
#include "migrator/perf/operand.h"

struct hm_operands;

/* Returns a decoder for this processor's instructions (free with hm_operands_free), or NULL with a text. */
struct hm_operands *hm_operands_new(struct hm_error *error);
void hm_operands_free(struct hm_operands *operands);

/*
 * Finds the memory operand that is nearest to the instruction that comes next. A processor that has waited for memory
 * is interrupted right after the instruction that waited: so the one before comes first. Between the operand and that
 * place, nothing may branch or write a register that the operand needs. The stack does not count: neither instructions
 * like push and call, nor variables at a fixed distance from the stack pointer, which caches always have.
 * Code whose sizes are too large has no operand.
 */
struct hm_operand hm_operands_find(struct hm_operands *operands, const struct hm_operand_code *code);

#endif
