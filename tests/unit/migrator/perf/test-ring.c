/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the reader of perf events' rings, on synthetic ones. Each ring is in memory of exactly its size, so that
 * AddressSanitizer notices a byte read outside.
 */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/perf/ring.h"
#include "unit/lib/rows.h"

#define RING 256
#define ROOM 64

static const uint64_t usual =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC;

struct made { /* a ring and its writer */
    struct hm_ring ring;
    unsigned char *bytes;
    uint64_t head, tail;
    struct hm_ring_counts counts;
    struct hm_ring_sample sample[ROOM];
};

static void make(struct made *made, uint64_t size, uint64_t start, uint64_t sample_type)
{
    memset(made, 0, sizeof(*made));
    made->bytes = malloc(size);
    assert_non_null(made->bytes);
    memset(made->bytes, 0xee, size);
    made->ring = (struct hm_ring){.data = made->bytes, .size = size, .sample_type = sample_type};
    made->head = made->tail = start;
}

static void put_bytes(struct made *made, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        made->bytes[made->head++ % made->ring.size] = ((const unsigned char *)data)[i];
}

static void put(struct made *made, uint32_t type, uint16_t misc, const uint64_t *word, unsigned words)
{
    struct perf_event_header header = {type, misc, (uint16_t)(sizeof(header) + words * 8)};
    put_bytes(made, &header, sizeof(header));
    put_bytes(made, word, words * sizeof(*word));
}

/* Adds a sample of the usual form. */
static void put_sample(struct made *made, uint64_t address)
{
    uint64_t word[] = {7, UINT64_C(101) << 32 | 100, address, 65536, PERF_MEM_OP_STORE};
    put(made, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, word, N_ROWS(word));
}

static size_t take(struct made *made, size_t room)
{
    return hm_ring_read(&made->ring, made->head, &made->tail, made->sample, room, &made->counts);
}

static void test_torn(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct perf_event_header header;
        uint64_t there; /* bytes up to the head */
        uint64_t start;
    } rows[] = {
        {"size 0", {PERF_RECORD_SAMPLE, 0, 0}, 48, 0},
        {"smaller than its header", {PERF_RECORD_LOST, 0, 4}, 48, 0},
        {"no multiple of 8", {PERF_RECORD_SAMPLE, 0, 47}, 48, 0},
        {"no multiple of 8, skipped type", {PERF_RECORD_MMAP2, 0, 20}, 48, 0},
        {"larger than what is there", {PERF_RECORD_SAMPLE, 0, 48}, 40, 0},
        {"larger than the ring", {PERF_RECORD_MMAP, 0, 65528}, RING, 0},
        {"largest size", {PERF_RECORD_SAMPLE, 0, 65535}, RING, 0},
        {"head beyond the ring", {PERF_RECORD_MMAP, 0, 8}, RING + 8, 0},
        {"head far beyond", {PERF_RECORD_MMAP, 0, 8}, UINT64_MAX - 7, 0},
        {"half a word there", {PERF_RECORD_MMAP, 0, 8}, 12, 0},
        {"tail within a word", {PERF_RECORD_MMAP, 0, 8}, 16, 4},
        {"sample too short", {PERF_RECORD_SAMPLE, 0, 40}, 48, 0},
        {"sample without a field", {PERF_RECORD_SAMPLE, 0, 8}, 48, 0},
        {"sample too long", {PERF_RECORD_SAMPLE, 0, 56}, 56, 0},
        {"LOST without its number", {PERF_RECORD_LOST, 0, 16}, 48, 0},
        {"LOST_SAMPLES without its number", {PERF_RECORD_LOST_SAMPLES, 0, 8}, 48, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct made made;
        make(&made, RING, rows[i].start, usual);
        put_bytes(&made, &rows[i].header, sizeof(rows[i].header));
        made.head = rows[i].start + rows[i].there;
        if (take(&made, ROOM) != 0 || made.counts.torn != 1)
            fail_msg("%s was taken", rows[i].name);
        assert_int_equal(made.tail, made.head); /* the reader has resynchronised */
        put_sample(&made, 0x5000);
        if (rows[i].there % 8 == 0 && rows[i].start % 8 == 0)
            assert_int_equal(take(&made, ROOM), 1); /* what follows is read */
        free(made.bytes);
    }
}

/* Registers follow their kind, and there are none of a thread of the kernel. They wrap at every place. */
static void test_registers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned n_regs, words;
        size_t taken;
        bool has_regs;
        uint64_t word[6]; /* place in the code, kind, registers */
    } rows[] = {
        {"all", 3, 5, 1, true, {0x401000, PERF_SAMPLE_REGS_ABI_64, 11, 12, 13}},
        {"none", 3, 2, 1, false, {0x401000, PERF_SAMPLE_REGS_ABI_NONE}},
        {"of 32 bits", 3, 5, 1, false, {0x401000, PERF_SAMPLE_REGS_ABI_32, 11, 12, 13}},
        {"too few", 3, 4, 0, false, {0x401000, PERF_SAMPLE_REGS_ABI_64, 11, 12}},
        {"too many", 3, 6, 0, false, {0x401000, PERF_SAMPLE_REGS_ABI_64, 11, 12, 13, 14}},
        {"no kind", 3, 1, 0, false, {0x401000}},
        {"more than there is room for", HM_RING_REGS + 1, 5, 0, false, {0x401000, PERF_SAMPLE_REGS_ABI_64, 11, 12}},
    };
    for (size_t i = 0; i < N_ROWS(rows) * (RING / 8); i++) {
        struct made made;
        size_t row = i % N_ROWS(rows), start = i / N_ROWS(rows) * 8;
        make(&made, RING, start, PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER);
        made.ring.n_regs = rows[row].n_regs;
        put(&made, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, rows[row].word, rows[row].words);
        if (take(&made, ROOM) != rows[row].taken || made.counts.torn != !rows[row].taken)
            fail_msg("%s, from %zu on: %u torn", rows[row].name, start, (unsigned)made.counts.torn);
        if (rows[row].taken) {
            assert_int_equal(made.sample[0].ip, 0x401000);
            assert_int_equal(made.sample[0].has_regs, rows[row].has_regs);
        }
        for (unsigned r = 0; rows[row].has_regs && r < 3; r++)
            assert_int_equal(made.sample[0].reg[r], 11 + r);
        free(made.bytes);
    }
}

static void test_bad_ring(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 4, 24, 48, 4095};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        unsigned char *bytes = malloc(sizes[i] ? sizes[i] : 1);
        struct hm_ring ring = {.data = bytes, .size = sizes[i], .sample_type = usual};
        struct hm_ring_counts counts = {0};
        uint64_t tail = 0;
        assert_int_equal(hm_ring_read(&ring, 48, &tail, NULL, ROOM, &counts), 0);
        assert_int_equal(counts.torn, 1);
        free(bytes);
    }
}

/* Sample types with fields of variable length are refused, not guessed. */
static void test_refused_types(void **state)
{
    (void)state;
    static const uint64_t types[] = {PERF_SAMPLE_READ,      PERF_SAMPLE_CALLCHAIN,  PERF_SAMPLE_RAW,
                                     PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_BRANCH_STACK,
                                     PERF_SAMPLE_REGS_INTR, UINT64_C(1) << 40};
    for (size_t i = 0; i < N_ROWS(types); i++) {
        struct made made;
        make(&made, RING, 0, usual | types[i]);
        put_sample(&made, 0x1000);
        assert_int_equal(take(&made, ROOM), 0);
        assert_int_equal(made.counts.torn, 1);
        free(made.bytes);
    }
}

static void assert_usual(const struct hm_ring_sample *sample, uint64_t address)
{
    assert_int_equal(sample->id, 7);
    assert_int_equal(sample->pid, 100);
    assert_int_equal(sample->tid, 101);
    assert_int_equal(sample->address, address);
    assert_int_equal(sample->period, 65536);
    assert_int_equal(sample->data_src, PERF_MEM_OP_STORE);
    assert_true(sample->is_user);
}

/* All one-word fields together, and with each left out in turn. Each has a value of its own, except that both ids are
 * the same. */
static void test_fields(void **state)
{
    (void)state;
    static const uint64_t order[] = {
        PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,          PERF_SAMPLE_TID,      PERF_SAMPLE_TIME,   PERF_SAMPLE_ADDR,
        PERF_SAMPLE_ID,         PERF_SAMPLE_STREAM_ID,   PERF_SAMPLE_CPU,      PERF_SAMPLE_PERIOD, PERF_SAMPLE_WEIGHT,
        PERF_SAMPLE_DATA_SRC,   PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_PHYS_ADDR};
    for (size_t left_out = 0; left_out <= N_ROWS(order); left_out++) {
        uint64_t word[N_ROWS(order)], type = 0;
        unsigned words = 0;
        struct made made;
        for (size_t i = 0; i < N_ROWS(order); i++) {
            if (i == left_out)
                continue;
            type |= order[i];
            word[words++] = order[i] == PERF_SAMPLE_ID || order[i] == PERF_SAMPLE_IDENTIFIER ? 99 : 1000 + i;
        }
        make(&made, RING, 200, type);
        put(&made, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, word, words);
        assert_int_equal(take(&made, ROOM), 1);
        assert_int_equal(made.sample[0].id, 99);
        assert_int_equal(made.sample[0].pid, left_out == 2 ? 0 : 1002);
        assert_int_equal(made.sample[0].address, left_out == 4 ? 0 : 1004);
        assert_int_equal(made.sample[0].period, left_out == 8 ? 0 : 1008);
        assert_int_equal(made.sample[0].data_src, left_out == 10 ? 0 : 1010);
        assert_false(made.sample[0].is_user);
        free(made.bytes);
    }
}

/* Every type of record between two samples, at every offset in the ring, so that each of them wraps at every place. */
static void test_types_and_wrapping(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t word[4];
        unsigned words;
        struct hm_ring_counts counts;
    } rows[] = {
        {PERF_RECORD_LOST, {7, 12}, 2, {.lost = 12}},
        {PERF_RECORD_LOST, {7, 12, 0, 0}, 4, {.lost = 12}}, /* with a sample_id after it */
        {PERF_RECORD_LOST_SAMPLES, {5}, 1, {.lost = 5}},
        {PERF_RECORD_THROTTLE, {1, 7, 7}, 3, {.throttled = 1}},
        {PERF_RECORD_UNTHROTTLE, {1, 7, 7}, 3, {.others = 1}},
        {PERF_RECORD_MMAP, {1, 2, 3, 4}, 4, {.others = 1}},
        {PERF_RECORD_COMM, {1, 2}, 2, {.others = 1}},
        {PERF_RECORD_EXIT, {1, 2, 3}, 3, {.others = 1}},
        {PERF_RECORD_FORK, {1, 2, 3}, 3, {.others = 1}},
        {PERF_RECORD_READ, {1, 2}, 2, {.others = 1}},
        {PERF_RECORD_MMAP2, {1, 2, 3, 4}, 4, {.others = 1}},
        {PERF_RECORD_AUX, {1, 2, 3}, 3, {.others = 1}},
        {PERF_RECORD_ITRACE_START, {1}, 1, {.others = 1}},
        {PERF_RECORD_SWITCH, {0}, 0, {.others = 1}},
        {PERF_RECORD_SWITCH_CPU_WIDE, {1}, 1, {.others = 1}},
        {PERF_RECORD_NAMESPACES, {1, 0}, 2, {.others = 1}},
        {17 /* KSYMBOL */, {1, 2, 3}, 3, {.others = 1}},
        {18 /* BPF_EVENT */, {1, 2}, 2, {.others = 1}},
        {19 /* CGROUP */, {1, 2}, 2, {.others = 1}},
        {20 /* TEXT_POKE */, {1, 2}, 2, {.others = 1}},
        {21 /* AUX_OUTPUT_HW_ID */, {1}, 1, {.others = 1}},
        {0, {1}, 1, {.others = 1}},
        {12345, {1, 2}, 2, {.others = 1}},
        {UINT32_MAX, {0}, 0, {.others = 1}},
    };
    for (uint64_t start = 0; start <= RING; start += 8) {
        for (size_t i = 0; i < N_ROWS(rows); i++) {
            struct made made;
            struct hm_ring_counts counts = rows[i].counts;
            counts.samples = 2;
            make(&made, RING, UINT64_MAX - 7 - RING + start, usual); /* the positions themselves overflow, too */
            put_sample(&made, 0x1000);
            put(&made, rows[i].type, 0, rows[i].word, rows[i].words);
            put_sample(&made, 0x2000);
            assert_int_equal(take(&made, ROOM), 2);
            assert_usual(&made.sample[0], 0x1000);
            assert_usual(&made.sample[1], 0x2000);
            assert_memory_equal(&made.counts, &counts, sizeof(counts));
            assert_int_equal(made.tail, made.head);
            free(made.bytes);
        }
    }
}

static void test_full_and_empty(void **state)
{
    (void)state;
    struct made made;
    make(&made, RING, 40, usual);
    assert_int_equal(take(&made, ROOM), 0);
    assert_int_equal(made.counts.torn, 0);
    for (int i = 0; i < 5; i++)
        put_sample(&made, 0x1000);
    put(&made, PERF_RECORD_SWITCH, 0, NULL, 0);
    put(&made, PERF_RECORD_SWITCH, 0, NULL, 0); /* 5 * 48 + 16: no byte is free */
    assert_int_equal(made.head - made.tail, RING);
    assert_int_equal(take(&made, ROOM), 5);
    assert_int_equal(made.counts.others, 2);
    free(made.bytes);
}

/* Samples for which there is no room stay in the ring. */
static void test_batches(void **state)
{
    (void)state;
    struct made made;
    make(&made, RING, 0, usual);
    for (uint64_t i = 1; i <= 5; i++)
        put_sample(&made, i << 12);
    assert_int_equal(take(&made, 0), 0);
    assert_int_equal(made.tail, 0);
    assert_int_equal(take(&made, 2), 2);
    assert_usual(&made.sample[1], 0x2000);
    assert_int_equal(made.tail, 96);
    assert_int_equal(take(&made, 2), 2);
    assert_usual(&made.sample[0], 0x3000);
    assert_int_equal(take(&made, 2), 1);
    assert_usual(&made.sample[0], 0x5000);
    assert_int_equal(made.counts.samples, 5);
    free(made.bytes);
}

/* Samples before the torn record are kept. */
static void test_torn_after_samples(void **state)
{
    (void)state;
    struct made made;
    struct perf_event_header header = {PERF_RECORD_SAMPLE, 0, 0};
    make(&made, RING, 240, usual);
    put_sample(&made, 0x1000);
    put_sample(&made, 0x2000);
    put_bytes(&made, &header, sizeof(header));
    put_sample(&made, 0x3000);
    assert_int_equal(take(&made, ROOM), 2);
    assert_usual(&made.sample[1], 0x2000);
    assert_int_equal(made.counts.torn, 1);
    assert_int_equal(made.tail, made.head);
    free(made.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_bad_ring),
        cmocka_unit_test(test_refused_types),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_types_and_wrapping),
        cmocka_unit_test(test_full_and_empty),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_torn_after_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
