/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables for exceptions (.eh_frame) say of a return address: where the frame of the function that it returns
 * to ends, and where the next return address and the frame pointer of the one before are. Only what compilers write for
 * nearly all functions is understood. Pure, for any machine of machine.h. The form: the DWARF standard, version 5,
 * section 6.4, and the Linux Standard Base, "Exception Frames".
 */
#ifndef HM_SITES_RECORD_CFI_H
#define HM_SITES_RECORD_CFI_H

#include <stdint.h>

#include "machine.h"

#define HM_CFI_WORD 8 /* bytes of an address */

enum hm_cfi_kind {
    HM_CFI_NONE,     /* nothing is known yet; no result of hm_cfi_find */
    HM_CFI_BY_STACK, /* the frame ends frame_bytes after the stack pointer */
    HM_CFI_BY_FRAME, /* the same after the frame pointer */
    HM_CFI_BY_WORD,  /* where it ends is in a word that is frame_bytes before the frame pointer */
    HM_CFI_ENDS,     /* nothing has called the function */
    HM_CFI_HARD,     /* anything else: the unwinder knows */
};

/* Each size is in the machine's range for it; what is not is HM_CFI_HARD. */
struct hm_cfi_rule {
    enum hm_cfi_kind kind;
    int64_t frame_bytes;
    int64_t next_bytes;  /* the next return address is so far from the frame's end, or where it is not before that, from
                          * the register that the frame's end is found by */
    int64_t saved_bytes; /* so far from there is the frame pointer of the caller; 0: it is the present one, or with
                          * HM_CFI_BY_WORD in the word that this one points to */
};

/* The rule of the return address `address` in code of the machine, by the entry `fde` of the function that begins at
 * `function`, as libgcc's unwinder finds them for the byte before the address. Reads no more than the entry and its CIE
 * say that they have. */
struct hm_cfi_rule hm_cfi_find(const struct hm_machine *machine, const void *fde, uintptr_t function,
                               uintptr_t address);

#endif
