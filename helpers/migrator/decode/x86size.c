/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64: how long an instruction is, and whether it is one. Capstone knows that, too, but needs a hundred times as
 * long: it also writes the instruction's text. After "Intel 64 and IA-32 Architectures Software Developer's Manual",
 * volume 2, appendix A.
 */
#include "translate.h"

#if defined(__x86_64__)
#define MOST_SIZE 15 /* bytes of an instruction, at most */

/*
 * What follows each opcode:
 *   .  nothing                  M  ModRM          x  these bytes are no instruction
 *   i  one byte                 B  ModRM and i    F  ModRM, and i for the first two operations of the group
 *   z  four bytes, or two       Z  ModRM and z    G  the same with z
 *   j  four bytes               w  two bytes      e  three bytes
 *   v  a value as wide as the register            m  an address of eight bytes, or four
 *   p  a prefix                 r  REX            2  another table's opcode
 *   8  a table's opcode and M   a  a table's opcode and B
 *   c, d, E  VEX of two and three bytes, EVEX
 */
static const char first[] = "MMMMizxxMMMMizx2MMMMizxxMMMMizxx" /* 00 */
                            "MMMMizpxMMMMizpxMMMMizpxMMMMizpx" /* 20 */
                            "rrrrrrrrrrrrrrrr................" /* 40 */
                            "xxEMppppzZiB....iiiiiiiiiiiiiiii" /* 60 */
                            "BZxBMMMMMMMMMMMM..........x....." /* 80 */
                            "mmmm....iz......iiiiiiiivvvvvvvv" /* a0 */
                            "BBw.dcBZe.w..ix.MMMMxxx.MMMMMMMM" /* c0 */
                            "iiiiiiiijjxi....p.pp..FG......MM" /* e0 */;

/* After 0f. */
static const char second[] = "MMMMx.....x.xM.BMMMMMMMMMMMMMMMM" /* 00 */
                             "MMMMxxxxMMMMMMMM......x.8xaxxxxx" /* 20 */
                             "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM" /* 40 */
                             "MMMMMMMMMMMMMMMMBBBBMMM.MMMMMMMM" /* 60 */
                             "jjjjjjjjjjjjjjjjMMMMMMMMMMMMMMMM" /* 80 */
                             "...MBMxx...MBMMMMMMMMMMMMMBMMMMM" /* a0 */
                             "MMBMBBBM........MMMMMMMMMMMMMMMM" /* c0 */
                             "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM" /* e0 */;

/* What is being read. Bytes past `size` are 0; whoever reads them has an instruction that is too long. */
struct reading {
    const uint8_t *byte;
    size_t size, at;
    bool is_narrow, is_short; /* prefixes 66 and 67 */
    bool is_wide;             /* REX.W */
};

static uint8_t peek(const struct reading *reading)
{
    return reading->at < reading->size ? reading->byte[reading->at] : 0;
}

static uint8_t take(struct reading *reading)
{
    uint8_t byte = peek(reading);
    reading->at++;
    return byte;
}

/* Returns the kind of the opcode after the prefixes. */
static char take_prefixes(struct reading *reading)
{
    for (;;) {
        uint8_t byte = take(reading);
        char kind = first[byte];
        if (kind == 'p' && reading->at == reading->size) {
            return 'x';
        } else if (kind == 'p') {
            reading->is_narrow |= byte == 0x66;
            reading->is_short |= byte == 0x67;
        } else if (kind == 'r') { /* it counts right before the opcode */
            reading->is_wide = byte & 8;
            kind = first[take(reading)];
            return kind == 'p' || kind == 'r' ? 'x' : kind;
        } else {
            return kind;
        }
    }
}

/* ModRM, with SIB and the distance. Returns the operation's number in its group. */
static uint8_t take_operand(struct reading *reading)
{
    uint8_t modrm = take(reading), mode = modrm >> 6, base = modrm & 7;
    if (mode != 3 && base == 4)
        base = take(reading) & 7;
    if (mode == 1)
        reading->at += 1;
    else if (mode == 2 || (mode == 0 && base == 5))
        reading->at += 4;
    return modrm >> 3 & 7;
}

/* An instruction of the table 0f (1), 0f38 (2), 0f3a (3), or EVEX's 5 and 6, after VEX or EVEX. */
static bool take_vector(struct reading *reading, unsigned table, bool is_long)
{
    uint8_t opcode = take(reading);
    char kind = table == 1 ? second[opcode] : table == 3 ? 'B' : 'M';
    bool is_there = (table >= 1 && table <= 3) || (is_long && (table == 5 || table == 6));
    if (!is_there || (kind != 'M' && kind != 'B' && opcode != 0x77))
        return false;
    if (opcode != 0x77 || table != 1)
        take_operand(reading);
    reading->at += kind == 'B';
    return true;
}

static bool take_rest(struct reading *reading, char kind)
{
    size_t most = reading->is_narrow && !reading->is_wide ? 2 : 4; /* bytes of a value */
    uint8_t byte;
    if (kind == '2')
        kind = second[take(reading)];
    switch (kind) {
    case 'x':
        return false;
    case '8':
    case 'a':
        take(reading);
        break;
    case 'c':
        take(reading);
        return take_vector(reading, 1, false);
    case 'd':
        byte = take(reading);
        take(reading);
        return take_vector(reading, byte & 0x1f, false);
    case 'E':
        byte = take(reading);
        if (byte & 8 || !(take(reading) & 4))
            return false;
        take(reading);
        return take_vector(reading, byte & 7, true);
    default:
        break;
    }
    if (kind == 'M' || kind == 'B' || kind == 'Z' || kind == '8' || kind == 'a')
        take_operand(reading);
    else if ((kind == 'F' || kind == 'G') && take_operand(reading) < 2)
        reading->at += kind == 'F' ? 1 : most;
    if (kind == 'i' || kind == 'B' || kind == 'a')
        reading->at += 1;
    else if (kind == 'z' || kind == 'Z')
        reading->at += most;
    else if (kind == 'v')
        reading->at += reading->is_wide ? 8 : most;
    else if (kind == 'm')
        reading->at += reading->is_short ? 4 : 8;
    else if (kind == 'j')
        reading->at += 4;
    else if (kind == 'w' || kind == 'e')
        reading->at += kind == 'w' ? 2 : 3;
    return true;
}

size_t hm_translate_size(const uint8_t *byte, size_t size)
{
    struct reading reading = {.byte = byte, .size = size < MOST_SIZE ? size : MOST_SIZE};
    char kind = take_prefixes(&reading);
    return take_rest(&reading, kind) && reading.at <= reading.size ? reading.at : 0;
}
#endif
