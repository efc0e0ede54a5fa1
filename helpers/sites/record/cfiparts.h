/* SPDX-License-Identifier: Apache-2.0 */
/* What the two parts of cfi.h share: cfi.c reads entries, cfirules.c runs their instructions. */
#ifndef HM_SITES_RECORD_CFIPARTS_H
#define HM_SITES_RECORD_CFIPARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cfi.h"

#define HM_CFI_NO_REGISTER (-1)

#define HM_CFI_KEPT 4 /* states that are remembered at a time */

struct hm_cfi_bytes {
    const unsigned char *at, *end;
    bool is_short; /* more was wanted than there is */
};

/* NULL, and is_short, where there are fewer. */
const unsigned char *hm_cfi_take(struct hm_cfi_bytes *bytes, uint64_t n);
/* A number of 1 to 8 bytes. */
uint64_t hm_cfi_take_number(struct hm_cfi_bytes *bytes, size_t n);
uint64_t hm_cfi_take_leb(struct hm_cfi_bytes *bytes, bool is_signed);

/* How the caller's value of a register is found. */
struct hm_cfi_saved {
    enum { HM_CFI_SAME, HM_CFI_AT_OFFSET, HM_CFI_AT_FRAME_POINTER, HM_CFI_LOST, HM_CFI_OTHERWISE } how;
    int64_t offset; /* from the frame's end */
};

struct hm_cfi_state {
    int64_t cfa_register; /* the frame's end is cfa_offset after it */
    int64_t cfa_offset;
    struct hm_cfi_saved frame_pointer, stack_pointer, return_address;
};

struct hm_cfi_program {
    const struct hm_machine *machine;
    uint64_t code_factor;
    int64_t data_factor;
    size_t pointer_bytes;     /* of addresses in the entries; 0: in no form that is understood */
    bool has_data;            /* entries have data of their language before their instructions */
    struct hm_cfi_bytes code; /* of the CIE */
    uintptr_t at, address;
    struct hm_cfi_state state, kept[HM_CFI_KEPT];
    unsigned n_kept;
    bool is_hard;
};

/* Runs instructions as far as they concern the code before the return address. */
void hm_cfi_execute(struct hm_cfi_program *program, struct hm_cfi_bytes code);
/* The rule of a program's state; HM_CFI_HARD, where it is none. */
struct hm_cfi_rule hm_cfi_rule_of(const struct hm_cfi_program *program);

#endif
