/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the reader of AUX areas, on made-up areas and rings. Both are in memory of exactly their size, so that
 * AddressSanitizer notices a byte read outside. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/perf/auxarea.h"
#include "spebytes.h"
#include "unit/lib/rows.h"

#define RING 256
#define AREA 128
#define ROOM 64

struct made { /* an area, a ring, and their writer */
    struct hm_ring ring;
    struct hm_aux aux;
    unsigned char *records;
    uint64_t head, tail; /* of the ring */
    uint64_t written;    /* aux_head */
    struct hm_ring_counts counts;
    struct hm_ring_sample sample[ROOM];
};

static const unsigned char load[] = {PC_USER, LOAD, RETIRED, LATENCY(8), DATA(0x1000), END};
static const unsigned char store[] = {STORE, RETIRED, DATA(0x2000), END};

static void make(struct made *made, uint64_t start)
{
    memset(made, 0, sizeof(*made));
    made->records = calloc(1, RING);
    made->ring = (struct hm_ring){.data = made->records, .size = RING, .sample_type = 0};
    made->aux = (struct hm_aux){.data = calloc(1, AREA), .bytes = AREA, .tail = start, .at = start, .end = start};
    assert_true(made->records && made->aux.data);
    made->head = made->tail = made->written = start;
}

static void unmake(struct made *made)
{
    free(made->records);
    free(made->aux.data);
}

static void put_record(struct made *made, uint32_t type, const uint64_t *word, unsigned words)
{
    struct perf_event_header header = {type, 0, (uint16_t)(sizeof(header) + words * sizeof(*word))};
    memcpy(made->records + made->head % RING, &header, sizeof(header));
    made->head += sizeof(header);
    for (unsigned i = 0; i < words; i++, made->head += sizeof(*word))
        memcpy(made->records + made->head % RING, &word[i], sizeof(*word));
}

static void put_chunk(struct made *made, uint64_t offset, uint64_t size, uint64_t flags)
{
    put_record(made, PERF_RECORD_AUX, (const uint64_t[]){offset, size, flags}, 3);
}

/* Writes bytes into the area, and a record of them into the ring. */
static void put_bytes(struct made *made, const unsigned char *bytes, size_t size, uint64_t flags)
{
    uint64_t offset = made->written;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)made->aux.data)[made->written++ % AREA] = bytes[i];
    put_chunk(made, offset, size, flags);
}

static size_t take(struct made *made, size_t room)
{
    return hm_aux_read(&made->aux, &made->ring, made->head, &made->tail, made->sample, room, &made->counts);
}

/* Chunks with other records between them. */
static void test_chunks(void **state)
{
    (void)state;
    struct made made;
    make(&made, 0);
    assert_int_equal(take(&made, ROOM), 0);
    put_bytes(&made, load, sizeof(load), 0);
    put_record(&made, PERF_RECORD_ITRACE_START, (const uint64_t[]){1}, 1);
    put_chunk(&made, made.written, 0, PERF_AUX_FLAG_TRUNCATED); /* the area was full before a byte was written */
    put_record(&made, PERF_RECORD_SAMPLE, (const uint64_t[]){1, 2}, 2);
    put_record(&made, PERF_RECORD_LOST, (const uint64_t[]){7, 3}, 2);
    put_bytes(&made, store, sizeof(store), 0);
    assert_int_equal(take(&made, ROOM), 2);
    assert_int_equal(made.sample[0].address, 0x1000);
    assert_int_equal(made.sample[1].address, 0x2000);
    union perf_mem_data_src first = {.val = made.sample[0].data_src}, second = {.val = made.sample[1].data_src};
    assert_int_equal(first.mem_op, PERF_MEM_OP_LOAD);
    assert_int_equal(second.mem_op, PERF_MEM_OP_STORE);
    assert_true(made.sample[0].is_user && made.sample[0].period == 0);
    assert_int_equal(made.counts.lost, 1 + 3);
    assert_int_equal(made.counts.torn, 0);
    assert_int_equal(made.counts.samples, 0); /* the kernel has written none */
    assert_int_equal(made.tail, made.head);
    assert_int_equal(made.aux.tail, made.written);
    unmake(&made);
}

/* The chunk lies at each place of the area, also across its end, where the hardware puts no record. */
static void test_wrapping(void **state)
{
    (void)state;
    for (uint64_t start = 0; start < AREA; start += 8) {
        struct made made;
        make(&made, UINT64_MAX - AREA + 1 + start); /* the offsets themselves overflow, too */
        put_bytes(&made, load, sizeof(load), 0);
        put_bytes(&made, store, sizeof(store), 0);
        size_t whole = (start + sizeof(load) <= AREA) +
                       (start + sizeof(load) + sizeof(store) <= AREA || start + sizeof(load) >= AREA);
        size_t n = take(&made, ROOM);
        if (n != whole)
            fail_msg("at %u: %zu records", (unsigned)start, n);
        assert_true(n == 2 || made.counts.torn > 0);
        assert_int_equal(made.aux.tail, made.written);
        unmake(&made);
    }
}

/* Flags that say that samples are missing; a chunk is read whatever its flags are. */
static void test_lost(void **state)
{
    (void)state;
    static const struct {
        uint64_t flags, lost;
    } rows[] = {
        {0, 0},
        {PERF_AUX_FLAG_OVERWRITE, 0},
        {PERF_AUX_FLAG_TRUNCATED, 1},
        {PERF_AUX_FLAG_PARTIAL, 1},
        {PERF_AUX_FLAG_COLLISION, 1},
        {PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION, 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct made made;
        make(&made, 0);
        put_bytes(&made, load, sizeof(load), rows[i].flags);
        assert_int_equal(take(&made, ROOM), 1);
        assert_int_equal(made.counts.lost, rows[i].lost);
        unmake(&made);
    }
}

/* A record that was cut at a chunk's end does not harm the next chunk. */
static void test_cut(void **state)
{
    (void)state;
    struct made made;
    make(&made, 0);
    put_bytes(&made, load, sizeof(load) - 5, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
    put_bytes(&made, store, sizeof(store), 0);
    assert_int_equal(take(&made, ROOM), 1);
    assert_int_equal(made.sample[0].address, 0x2000);
    assert_int_equal(made.counts.torn, 1);
    assert_int_equal(made.counts.lost, 1);
    unmake(&made);
}

/* Chunks that cannot be, and what is done with the chunk after each. */
static void test_bad_chunks(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset, size;
    } rows[] = {{0, AREA + 1},   {1, AREA},           {AREA - 7, 8}, {8, UINT64_MAX},
                {UINT64_MAX, 2}, {UINT64_MAX - 7, 8}, {AREA + 1, 0}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct made made;
        make(&made, 0);
        put_chunk(&made, rows[i].offset, rows[i].size, 0);
        put_bytes(&made, store, sizeof(store), 0);
        if (take(&made, ROOM) != 1 || made.counts.torn != 1)
            fail_msg("row %zu: %llu torn", i, (unsigned long long)made.counts.torn);
        unmake(&made);
    }
    struct made made;
    make(&made, 0);
    put_record(&made, PERF_RECORD_AUX, (const uint64_t[]){0, 8}, 2); /* no flags: too short */
    put_bytes(&made, store, sizeof(store), 0);
    assert_int_equal(take(&made, ROOM), 0);
    assert_int_equal(made.counts.torn, 1);
    assert_int_equal(made.tail, made.head);
    unmake(&made);
}

/* What has no record, as the ring had no room for it, is skipped; the hardware can use it again. */
static void test_skip(void **state)
{
    (void)state;
    struct made made;
    make(&made, 0);
    put_bytes(&made, load, sizeof(load), 0);
    assert_int_equal(take(&made, ROOM), 1);
    hm_aux_skip(&made.aux, AREA);
    assert_int_equal(made.aux.tail, AREA);
    hm_aux_skip(&made.aux, AREA - 8); /* a head that is behind */
    assert_int_equal(made.aux.tail, AREA);
    hm_aux_skip(&made.aux, 2 * AREA + 1); /* a head that cannot be */
    assert_int_equal(made.aux.tail, AREA);
    made.written = AREA + 16; /* pads without a record */
    put_bytes(&made, store, sizeof(store), 0);
    assert_int_equal(take(&made, ROOM), 1);
    assert_int_equal(made.sample[0].address, 0x2000);
    unmake(&made);
}

/* Samples for which there is no room stay in the area. Those of the kernel's accesses are dropped. */
static void test_batches(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {LOAD,         RETIRED, DATA(0x1000), END,     PC_KERNEL,    LOAD, RETIRED,
                                          DATA(0x2000), END,     LOAD,         RETIRED, DATA(0x3000), END};
    struct made made;
    make(&made, 0);
    put_bytes(&made, bytes, sizeof(bytes), PERF_AUX_FLAG_TRUNCATED);
    put_bytes(&made, store, sizeof(store), 0);
    assert_int_equal(take(&made, 0), 0);
    assert_int_equal(take(&made, 1), 1);
    assert_int_equal(made.sample[0].address, 0x1000);
    assert_int_equal(take(&made, 2), 2);
    assert_int_equal(made.sample[0].address, 0x3000);
    assert_int_equal(made.sample[1].address, 0x2000);
    assert_int_equal(take(&made, 2), 0);
    assert_int_equal(made.counts.lost, 1);
    assert_int_equal(made.counts.torn, 0);
    unmake(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),  cmocka_unit_test(test_wrapping),   cmocka_unit_test(test_lost),
        cmocka_unit_test(test_cut),     cmocka_unit_test(test_bad_chunks), cmocka_unit_test(test_skip),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
