/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the decoder of SPE's packets, on bytes made by hand. Packets and their order are as Arm's manual and published
 * dumps of hardware have them. Each row of bytes is in memory of exactly its size, so that AddressSanitizer notices a
 * byte read outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/perf/spe.h"
#include "spebytes.h"
#include "unit/lib/rows.h"

#define ROOM 16
#define MOST 80 /* bytes of a row */
#define BYTES(...) {__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

struct decoded {
    struct hm_spe_record record[ROOM];
    struct hm_spe_counts counts;
    size_t n, at;
};

static struct decoded decode(const unsigned char *bytes, size_t size)
{
    struct decoded decoded = {.n = 0};
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    decoded.n = hm_spe_decode(copy, size, &decoded.at, decoded.record, ROOM, &decoded.counts);
    assert_int_equal(decoded.at, size);
    assert_int_equal(decoded.counts.records, decoded.n);
    free(copy);
    return decoded;
}

/* What one record says. */
static void test_records(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned char bytes[MOST];
        size_t size;
        struct hm_spe_record record;
    } rows[] = {
        {"a load, with all that hardware tells of it",
         BYTES(PC_USER, PADS, PADS, LOAD, RETIRED, ISSUE, LATENCY(8), DATA(0xaaaae65dda43), TRANSLATION, PHYSICAL,
               SOURCE, CONTEXT, PADS, TIME),
         {0xaaaae65dda43, 8, false, true, false}},
        {"a store, ended without a time",
         BYTES(PC_USER, STORE, RETIRED, LATENCY(300), DATA(0xffff80001000), END),
         {0xffff80001000, 300, true, true, false}},
        {"in another order, with pads before and after",
         BYTES(PADS, DATA(0x1000), MISSED, LOAD, END, PADS),
         {0x1000, 0, false, true, true}},
        {"a tag is not of the address",
         BYTES(LOAD, RETIRED, TAGGED(0x7fff12345678, 0xb4), END),
         {0x7fff12345678, 0, false, true, false}},
        {"the tag of an address with its lowest bits set only",
         BYTES(LOAD, RETIRED, TAGGED(0x10, 0xff), END),
         {0x10, 0, false, true, false}},
        {"an address of the kernel",
         BYTES(PC_KERNEL, LOAD, RETIRED, DATA(0xfffc2007c226c0), END),
         {0xfffffc2007c226c0, 0, false, false, false}},
        {"the lowest address with a sign",
         BYTES(LOAD, RETIRED, DATA(0x80000000000000), END),
         {0xff80000000000000, 0, false, true, false}},
        {"the kernel reads a user's memory",
         BYTES(PC_KERNEL, LOAD, RETIRED, DATA(0x7fff00000008), END),
         {0x7fff00000008, 0, false, false, false}},
        {"an atomic operation that is shown as a load",
         BYTES(OPERATION(0x16), RETIRED, DATA(0x2000), END),
         {0x2000, 0, true, true, false}},
        {"a load with acquire, and an exclusive one",
         BYTES(OPERATION(0x1a), RETIRED, DATA(0x2000), END),
         {0x2000, 0, false, true, false}},
        {"a load of a SIMD register is not atomic",
         BYTES(OPERATION(0x04), RETIRED, DATA(0x2000), END),
         {0x2000, 0, false, true, false}},
        {"bits of no atomic operation, of which one is as that of an SVE gather",
         BYTES(OPERATION(0x86), RETIRED, DATA(0x2000), END),
         {0x2000, 0, false, true, false}},
        {"bits of no atomic operation, of which one is as that of a block of memory",
         BYTES(OPERATION(0x26), RETIRED, DATA(0x2000), END),
         {0x2000, 0, false, true, false}},
        {"an SVE load, predicated, gathering",
         BYTES(OPERATION(0x9c), RETIRED, DATA(0x3000), END),
         {0x3000, 0, false, true, false}},
        {"an SVE store", BYTES(OPERATION(0x39), RETIRED, DATA(0x3000), END), {0x3000, 0, true, true, false}},
        {"a block of memory is set",
         BYTES(OPERATION(0x25), RETIRED, DATA(0x3000), END),
         {0x3000, 0, true, true, false}},
        {"events of 1 byte", BYTES(LOAD, 0x42, 0x16, DATA(0x4000), END), {0x4000, 0, false, true, false}},
        {"events of 4 bytes", BYTES(LOAD, 0x62, 0x1e, 0x03, 0, 0, DATA(0x4000), END), {0x4000, 0, false, true, true}},
        {"events of 8 bytes",
         BYTES(LOAD, 0x72, 0x1e, 0x03, 0, 0, 0, 0, 0, 0x80, DATA(0x4000), END),
         {0x4000, 0, false, true, true}},
        {"sources of 2 bytes",
         BYTES(LOAD, RETIRED, 0x53, 0x01, 0x01, DATA(0x4000), END),
         {0x4000, 0, false, true, false}},
        {"a counter and an address with long headers",
         BYTES(LOAD, RETIRED, 0x20, 0x98, 9, 0, 0x20, 0xb2, SEVEN(0x5000ULL), 0, END),
         {0x5000, 9, false, true, false}},
        {"long headers of indexes that are not known",
         BYTES(LOAD, RETIRED, 0x21, 0x98, 9, 0, 0x23, 0xb2, SEVEN(0x6000ULL), 0, LATENCY(5), DATA(0x5000), END),
         {0x5000, 5, false, true, false}},
        {"an address of a kind that is not known",
         BYTES(LOAD, RETIRED, 0xb7, SEVEN(0x6000ULL), 0, DATA(0x5000), END),
         {0x5000, 0, false, true, false}},
        {"filled up to a multiple of 16",
         BYTES(LOAD, RETIRED, 0x23, 0x00, END, END, END, END, END, END, END, END, END, DATA(0x5000), END),
         {0x5000, 0, false, true, false}},
        {"filled up to a multiple of 2, but the next one has no room for the header",
         BYTES(0x00, LOAD, RETIRED, 0x00, 0x20, 0x00, END, DATA(0x5000), END),
         {0x5000, 0, false, true, false}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct decoded decoded = decode(rows[i].bytes, rows[i].size);
        const struct hm_spe_record *found = &decoded.record[0], *wanted = &rows[i].record;
        if (decoded.n != 1 || decoded.counts.torn || decoded.counts.others || found->address != wanted->address ||
            found->latency != wanted->latency || found->is_store != wanted->is_store ||
            found->is_user != wanted->is_user || found->missed_cache != wanted->missed_cache)
            fail_msg("%s: %zu records, %llu torn, address %llx", rows[i].name, decoded.n,
                     (unsigned long long)decoded.counts.torn, (unsigned long long)found->address);
    }
}

/* Sound records that are no access to memory which was carried out. */
static void test_others(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned char bytes[MOST];
        size_t size;
    } rows[] = {
        {"a branch", BYTES(PC_USER, BRANCH, RETIRED, LATENCY(3), 0xb1, SEVEN(0x1000ULL), 0x80, END)},
        {"an operation without memory", BYTES(PC_USER, OTHER_OPERATION, RETIRED, END)},
        {"a class of operations that is not known", BYTES(0x4b, 0x00, RETIRED, DATA(0x1000), END)},
        {"a load without an address", BYTES(PC_USER, LOAD, RETIRED, END)},
        {"a load with a physical address alone", BYTES(LOAD, RETIRED, PHYSICAL, END)},
        {"an address without an operation", BYTES(RETIRED, DATA(0x1000), END)},
        {"a load that was begun in vain", BYTES(LOAD, EVENTS(0x14, 0), DATA(0x1000), END)},
        {"a load without events", BYTES(LOAD, DATA(0x1000), END)},
        {"address 0", BYTES(LOAD, RETIRED, DATA(0x0), END)},
        {"nothing but an end", BYTES(END)},
        {"nothing but a time", BYTES(TIME)},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct decoded decoded = decode(rows[i].bytes, rows[i].size);
        if (decoded.n != 0 || decoded.counts.others != 1 || decoded.counts.torn != 0)
            fail_msg("%s: %zu records, %llu others", rows[i].name, decoded.n,
                     (unsigned long long)decoded.counts.others);
    }
    assert_int_equal(decode((const unsigned char[]){PADS, PADS}, 8).counts.others, 0);
    assert_int_equal(decode((const unsigned char[]){END}, 0).counts.torn, 0);
}

/* Garbage costs the record in which it is; the next one is read. */
static void test_torn(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned char bytes[MOST];
        size_t size;
        unsigned torn;
    } rows[] = {
        {"a header that is not known", BYTES(0xff, LOAD, RETIRED, DATA(0x1000), END), 1},
        {"many of them", BYTES(0xff, 0xfe, 0x0f, 0x8f, END), 1},
        {"after a record's packets", BYTES(LOAD, RETIRED, DATA(0x1000), 0x02, END), 1},
        {"a long header without its packet", BYTES(0x20, 0x49, 0x00, RETIRED, DATA(0x1000), END), 1},
        {"a long header of no long packet", BYTES(0x24, 0x98, 0x01, 0x00, END), 1},
        {"two operations", BYTES(LOAD, STORE, RETIRED, DATA(0x1000), END), 1},
        {"two addresses", BYTES(LOAD, RETIRED, DATA(0x1000), DATA(0x2000), END), 1},
        {"two sets of events", BYTES(LOAD, RETIRED, RETIRED, DATA(0x1000), END), 1},
        {"torn twice", BYTES(0xff, END, LOAD, 0xff, END), 2},
        {"what was cut from a record", BYTES(0x12, 0x34, 0xaa, LATENCY(1), TIME), 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        unsigned char bytes[128] = {0};
        static const unsigned char sound[] = {STORE, RETIRED, DATA(0x7000), END};
        memcpy(bytes, rows[i].bytes, rows[i].size);
        memcpy(bytes + rows[i].size, sound, sizeof(sound));
        struct decoded decoded = decode(bytes, rows[i].size + sizeof(sound));
        if (decoded.counts.torn != rows[i].torn || decoded.counts.others != 0 || decoded.n != 1 ||
            decoded.record[0].address != 0x7000 || !decoded.record[0].is_store)
            fail_msg("%s: %zu records, %llu torn", rows[i].name, decoded.n, (unsigned long long)decoded.counts.torn);
    }
}

/* A record that ends anywhere before its end is dropped, and nothing after it is read. */
static void test_cut(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {PC_USER, LOAD, RETIRED, LATENCY(8), DATA(0x1000),
                                          SOURCE,  PADS, 0x20,    0x00,       TIME};
    for (size_t size = 1; size < sizeof(bytes); size++) {
        struct decoded decoded = decode(bytes, size);
        assert_int_equal(decoded.n, 0);
        assert_int_equal(decoded.counts.torn, 1);
    }
    assert_int_equal(decode(bytes, sizeof(bytes)).n, 1);
}

/* The longest record that there is, and one that is longer by a byte. */
static void test_length(void **state)
{
    (void)state;
    static const unsigned char sound[] = {LOAD, RETIRED, DATA(0x1000)};
    for (size_t more = 0; more < 2; more++) {
        unsigned char bytes[HM_SPE_RECORD_MOST + 1] = {0};
        memcpy(bytes, sound, sizeof(sound));
        bytes[HM_SPE_RECORD_MOST - 1 + more] = END;
        struct decoded decoded = decode(bytes, HM_SPE_RECORD_MOST + more);
        assert_int_equal(decoded.n, 1 - more);
        assert_int_equal(decoded.counts.torn, more);
    }
}

/* Where there is no room, records stay for the next call. Alignment counts from the begin of the memory. */
static void test_batches(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {LOAD,    RETIRED,      DATA(0x1000), END,  0x22,    0x00,         END, END,
                                          END,     END,          END,          END,  END,     BRANCH,       END, STORE,
                                          RETIRED, DATA(0x2000), END,          LOAD, RETIRED, DATA(0x3000), END};
    struct hm_spe_counts counts = {0};
    struct hm_spe_record record[2];
    size_t at = 0;
    assert_int_equal(hm_spe_decode(bytes, sizeof(bytes), &at, record, 0, &counts), 0);
    assert_int_equal(at, 0);
    assert_int_equal(hm_spe_decode(bytes, sizeof(bytes), &at, record, 1, &counts), 1);
    assert_int_equal(record[0].address, 0x1000);
    assert_int_equal(at, 15);
    assert_int_equal(hm_spe_decode(bytes, sizeof(bytes), &at, record, 2, &counts), 2);
    assert_int_equal(record[0].address, 0x2000);
    assert_int_equal(record[1].address, 0x3000);
    assert_int_equal(at, sizeof(bytes));
    assert_int_equal(hm_spe_decode(bytes, sizeof(bytes), &at, record, 2, &counts), 0);
    assert_int_equal(counts.records, 3);
    assert_int_equal(counts.others, 1);
    assert_int_equal(counts.torn, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records), cmocka_unit_test(test_others), cmocka_unit_test(test_torn),
        cmocka_unit_test(test_cut),     cmocka_unit_test(test_length), cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
