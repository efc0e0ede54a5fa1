/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi.h"

#include <string.h>

#include "cfiparts.h"

/* ---------------------------------------------------------- bytes */

const unsigned char *hm_cfi_take(struct hm_cfi_bytes *bytes, uint64_t n)
{
    const unsigned char *taken = bytes->at;
    if (n > (uint64_t)(bytes->end - bytes->at)) {
        bytes->is_short = true;
        bytes->at = bytes->end;
        return NULL;
    }
    bytes->at += n;
    return taken;
}

uint64_t hm_cfi_take_number(struct hm_cfi_bytes *bytes, size_t n)
{
    uint64_t value = 0;
    const unsigned char *from = hm_cfi_take(bytes, n);
    for (size_t i = 0; from && i < n; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

uint64_t hm_cfi_take_leb(struct hm_cfi_bytes *bytes, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    const unsigned char *from;
    do {
        from = hm_cfi_take(bytes, 1);
        bytes->is_short |= shift >= 64;
        if (bytes->is_short)
            return 0;
        value |= (uint64_t)(*from & 0x7f) << shift;
        shift += 7;
    } while (*from & 0x80);
    if (is_signed && (*from & 0x40) && shift < 64)
        value |= UINT64_MAX << shift;
    return value;
}

/* An entry begins with the number of its bytes. */
static struct hm_cfi_bytes bytes_of(const void *entry)
{
    uint32_t length;
    memcpy(&length, entry, sizeof(length));
    const unsigned char *from = (const unsigned char *)entry + sizeof(length);
    return length < UINT32_C(0xfffffff0) ? (struct hm_cfi_bytes){from, from + length, false}
                                         : (struct hm_cfi_bytes){from, from, true};
}

/* ---------------------------------------------------------- entries */

/* The bytes of an address in this encoding; 0: it is not understood. */
static size_t bytes_of_pointer(unsigned encoding)
{
    static const size_t bytes[16] = {[0x0] = 8, [0x3] = 4, [0x4] = 8, [0xb] = 4, [0xc] = 8};
    return (encoding & 0x70) == 0x50 ? 0 : bytes[encoding & 0xf]; /* 0x50: it begins at a multiple of its size */
}

/* What follows the augmentation string in a CIE. Its first letter z says that there is a length. */
static void read_augmentation(struct hm_cfi_program *program, struct hm_cfi_bytes *cie, const char *letters)
{
    struct hm_cfi_bytes data = *cie;
    program->pointer_bytes = bytes_of_pointer(0);
    program->has_data = *letters == 'z';
    if (program->has_data) {
        uint64_t length = hm_cfi_take_leb(cie, false);
        data = *cie;
        hm_cfi_take(cie, length);
        letters++;
    }
    for (; *letters; letters++) {
        if (*letters == 'B' && program->machine->signs_addresses) /* by the other one of two keys */
            continue;
        unsigned encoding = (unsigned)hm_cfi_take_number(&data, 1);
        size_t bytes = bytes_of_pointer(encoding);
        if (*letters == 'R')
            program->pointer_bytes = bytes;
        else if (*letters == 'P' && bytes > 0)
            hm_cfi_take(&data, bytes);
        else if (*letters != 'L') /* S, a signal's frame, or one that is not known */
            program->is_hard = true;
    }
    program->is_hard |= data.is_short || program->pointer_bytes == 0;
}

static void read_cie(struct hm_cfi_program *program, struct hm_cfi_bytes cie)
{
    hm_cfi_take(&cie, sizeof(uint32_t)); /* which says that it is one */
    uint64_t version = hm_cfi_take_number(&cie, 1);
    const char *letters = (const char *)cie.at;
    size_t length = strnlen(letters, (size_t)(cie.end - cie.at));
    if (!hm_cfi_take(&cie, length + 1) || (version != 1 && version != 3)) {
        program->is_hard = true;
        return;
    }
    program->code_factor = hm_cfi_take_leb(&cie, false);
    program->data_factor = (int64_t)hm_cfi_take_leb(&cie, true);
    uint64_t next = version == 1 ? hm_cfi_take_number(&cie, 1) : hm_cfi_take_leb(&cie, false);
    program->is_hard = next != program->machine->return_address;
    read_augmentation(program, &cie, letters);
    program->is_hard |= cie.is_short;
    program->code = cie;
}

struct hm_cfi_rule hm_cfi_find(const struct hm_machine *machine, const void *fde, uintptr_t function, uintptr_t address)
{
    struct hm_cfi_program program = {
        .machine = machine, .at = function, .address = address, .state.cfa_register = HM_CFI_NO_REGISTER};
    struct hm_cfi_bytes code = bytes_of(fde);
    const unsigned char *begin = code.at;
    int32_t to_cie = (int32_t)hm_cfi_take_number(&code, sizeof(int32_t));
    if (!code.is_short)
        read_cie(&program, bytes_of(begin - to_cie));
    hm_cfi_take(&code, 2 * program.pointer_bytes); /* which code it is of */
    if (program.has_data)
        hm_cfi_take(&code, hm_cfi_take_leb(&code, false));
    program.is_hard |= code.is_short;
    hm_cfi_execute(&program, program.code);
    hm_cfi_execute(&program, code);
    return program.is_hard ? (struct hm_cfi_rule){.kind = HM_CFI_HARD} : hm_cfi_rule_of(&program);
}
