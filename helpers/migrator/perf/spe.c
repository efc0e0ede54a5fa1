/* SPDX-License-Identifier: Apache-2.0 */
#include "spe.h"

#include <endian.h>
#include <string.h>

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define BIT(n) (UINT64_C(1) << (n))

enum kind { UNKNOWN, PADDING, END, TIME, EVENTS, SOURCE, CONTEXT, OPERATION, ADDRESS, COUNTER };

/* The first byte of each kind of packet. Bits 4 and 5 of those with a payload give its size: 1, 2, 4 or 8 bytes. */
static const struct {
    uint8_t mask, value;
    enum kind kind;
    bool has_payload;
} headers[] = {{0xff, 0x00, PADDING, false},  {0xff, 0x01, END, false},    {0xff, 0x71, TIME, true},
               {0xcf, 0x42, EVENTS, true},    {0xcf, 0x43, SOURCE, true},  {0xfc, 0x64, CONTEXT, true},
               {0xfc, 0x48, OPERATION, true}, {0xf8, 0xb0, ADDRESS, true}, {0xf8, 0x98, COUNTER, true}};

/* A header of two bytes: the first one has two more bits of the index, the second one is that of an address or counter.
 * If the second one is 0, the packet fills memory up to an alignment, which the lower four bits give. */
#define EXTENDED 0x20
#define EXTENDED_MASK 0xfc
#define ALIGNMENT_MASK 0xf0

/* Indexes of packets */
#define OF_LOADS_AND_STORES 1 /* class of operations */
#define OF_INSTRUCTION 0      /* address */
#define OF_DATA 2             /* address, virtual */
#define OF_TOTAL 0            /* counter: total latency */

/* Bits of payloads */
#define OPERATION_STORE BIT(0)
#define OPERATION_FORM 0xe2 /* of the bits for atomic operations, exclusives and acquire or release: */
#define OPERATION_FORM_ATOMIC 0x02
#define OPERATION_ATOMIC BIT(2)
#define EVENT_RETIRED BIT(1)
#define EVENT_LAST_LEVEL_MISS BIT(9)
#define LEVEL_SHIFT 61 /* exception level, in the address of an instruction */
#define LEVEL_MASK 3
#define ADDRESS_SIGN BIT(55)
#define ADDRESS_TOP (UINT64_C(0xff) << 56)

struct packet {
    enum kind kind;
    unsigned index;
    size_t bytes; /* 0: it does not end before the data's end */
    uint64_t payload;
};

/* What is known of a record before its end. */
struct draft {
    struct hm_spe_record record;
    size_t begin;
    bool has_begun, is_torn;
    bool has_operation, has_address, has_events;
    bool is_access, is_retired;
};

static uint64_t read_payload(const unsigned char *data, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, data, bytes);
    return le64toh(word);
}

/* Reads a packet whose last or only header byte is at `at`. The `extra` bytes before it are of the packet, too. */
static struct packet read_short(const unsigned char *data, size_t at, size_t end, size_t extra)
{
    struct packet packet = {UNKNOWN, data[at] & 7, extra + 1, 0};
    for (size_t i = 0; i < N_ROWS(headers); i++) {
        if ((data[at] & headers[i].mask) != headers[i].value)
            continue;
        size_t bytes = headers[i].has_payload ? (size_t)1 << (data[at] >> 4 & 3) : 0;
        packet.kind = headers[i].kind;
        packet.bytes = bytes < end - at ? extra + 1 + bytes : 0;
        packet.payload = packet.bytes ? read_payload(data + at + 1, bytes) : 0;
        break;
    }
    return packet;
}

/* Reads the packet at `at`, which is before `end`. An unknown header is one byte of UNKNOWN. */
static struct packet read_packet(const unsigned char *data, size_t at, size_t end)
{
    unsigned char first = data[at];
    if ((first & ALIGNMENT_MASK) != EXTENDED)
        return read_short(data, at, end, 0);
    struct packet packet = {UNKNOWN, 0, end - at > 1, 0};
    if (packet.bytes == 0)
        return packet;
    if (data[at + 1] == 0) {
        size_t alignment = (size_t)2 << (first & 0x0f);
        size_t bytes = alignment - at % alignment;
        bytes += bytes < 2 ? alignment : 0; /* of which two are the header */
        return (struct packet){PADDING, 0, bytes <= end - at ? bytes : 0, 0};
    }
    if ((first & EXTENDED_MASK) != EXTENDED)
        return packet;
    struct packet extended = read_short(data, at + 1, end, 1);
    if (extended.kind != ADDRESS && extended.kind != COUNTER)
        return packet;
    extended.index |= (first & 3U) << 3;
    return extended;
}

static void take_operation(struct draft *draft, const struct packet *packet)
{
    bool is_atomic =
        (packet->payload & OPERATION_FORM) == OPERATION_FORM_ATOMIC && (packet->payload & OPERATION_ATOMIC);
    draft->is_torn |= draft->has_operation;
    draft->has_operation = true;
    draft->is_access = (packet->index & 3) == OF_LOADS_AND_STORES;
    draft->record.is_store = is_atomic || packet->payload & OPERATION_STORE;
}

static void take_address(struct draft *draft, const struct packet *packet)
{
    if (packet->index == OF_INSTRUCTION)
        draft->record.is_user = (packet->payload >> LEVEL_SHIFT & LEVEL_MASK) == 0;
    if (packet->index != OF_DATA)
        return;
    draft->is_torn |= draft->has_address;
    draft->has_address = true;
    draft->record.address = packet->payload & ~ADDRESS_TOP;
    if (packet->payload & ADDRESS_SIGN)
        draft->record.address |= ADDRESS_TOP;
}

static void take_events(struct draft *draft, const struct packet *packet)
{
    draft->is_torn |= draft->has_events;
    draft->has_events = true;
    draft->is_retired = packet->payload & EVENT_RETIRED;
    draft->record.missed_cache = packet->payload & EVENT_LAST_LEVEL_MISS;
}

static void take(struct draft *draft, const struct packet *packet)
{
    if (packet->kind == OPERATION)
        take_operation(draft, packet);
    else if (packet->kind == ADDRESS)
        take_address(draft, packet);
    else if (packet->kind == EVENTS)
        take_events(draft, packet);
    else if (packet->kind == COUNTER && packet->index == OF_TOTAL)
        draft->record.latency = (uint32_t)packet->payload;
}

/* Counts a record that ends at `end`. Returns whether it is one to give. */
static bool finish(const struct draft *draft, size_t end, struct hm_spe_counts *counts)
{
    bool is_torn = draft->is_torn || end - draft->begin > HM_SPE_RECORD_MOST;
    bool is_given =
        !is_torn && draft->is_access && draft->has_address && draft->is_retired && draft->record.address != 0;
    counts->torn += is_torn;
    counts->records += is_given;
    counts->others += !is_torn && !is_given;
    return is_given;
}

size_t hm_spe_decode(const void *data, size_t end, size_t *at, struct hm_spe_record *out, size_t room,
                     struct hm_spe_counts *counts)
{
    static const struct draft empty = {.record.is_user = true};
    struct draft draft = empty;
    size_t taken = 0, here = *at;
    while (here < end && taken < room) {
        struct packet packet = read_packet(data, here, end);
        if (packet.bytes == 0)
            break;
        if (!draft.has_begun && packet.kind != PADDING) {
            draft.has_begun = true;
            draft.begin = here;
        }
        here += packet.bytes;
        draft.is_torn |= packet.kind == UNKNOWN;
        take(&draft, &packet);
        if (packet.kind != END && packet.kind != TIME)
            continue;
        out[taken] = draft.record;
        taken += finish(&draft, here, counts);
        draft = empty;
        *at = here;
    }
    if (taken < room) {
        counts->torn += draft.has_begun || here < end;
        *at = end;
    }
    return taken;
}
