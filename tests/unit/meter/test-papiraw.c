/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how counters are reconstructed from what PAPI's component powercap returns, with a model of the component. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "meter/count/counter.h"
#include "meter/papi/raw.h"
#include "unit/lib/rows.h"

/* Ranges of a package's and of a DRAM's counter, in microjoules. */
#define RANGE UINT64_C(262143328850)
#define SHORT UINT64_C(65712999613)

/* What the component returns for a counter at `now` that was at `start`. PAPI takes `used_range` for its range. */
static uint64_t give(uint64_t start, uint64_t now, uint64_t used_range)
{
    if (start == 0 || start == now)
        return now;
    return start > now ? now + used_range - start : now - start;
}

static void test_beginnings(void **state)
{
    (void)state;
    static const struct {
        uint64_t reading, since_ns;
        enum hm_papiraw_state expected;
    } rows[] = {
        {0, 50000, HM_PAPIRAW_VALUE},
        {1, 50000, HM_PAPIRAW_AMBIGUOUS},
        {1000001, 50000, HM_PAPIRAW_AMBIGUOUS}, /* 1 microjoule more than 20 kW are in 50 microseconds */
        {1000002, 50000, HM_PAPIRAW_VALUE},
        {1000002, 60000, HM_PAPIRAW_AMBIGUOUS},
        {RANGE - 1, 50000, HM_PAPIRAW_VALUE},
        {RANGE, 50000, HM_PAPIRAW_UNREADABLE},
        {RANGE + 1, 50000, HM_PAPIRAW_UNREADABLE},
        {UINT64_MAX, 50000, HM_PAPIRAW_UNREADABLE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_papiraw raw = {.range = RANGE, .used_range = RANGE};
        uint64_t value = 7;
        if (hm_papiraw_begin(&raw, rows[i].reading, 1, rows[i].since_ns, &value) != rows[i].expected)
            fail_msg("row %zu", i);
        assert_int_equal(raw.is_known, rows[i].expected == HM_PAPIRAW_VALUE);
        assert_int_equal(value, raw.is_known ? rows[i].reading : 7);
    }
    struct hm_papiraw none = {0};
    uint64_t value;
    assert_int_equal(hm_papiraw_begin(&none, 5000000, 1, 1, &value), HM_PAPIRAW_UNREADABLE);
    assert_int_equal(hm_papiraw_take(&none, 5000000, 2, &value), HM_PAPIRAW_AMBIGUOUS);
}

/* Values below, at and above a counter's start, where PAPI uses the zone's own range or another one. */
static void test_values(void **state)
{
    (void)state;
    static const uint64_t starts[] = {0, 2000000, SHORT / 2, SHORT - 2, SHORT - 1};
    static const uint64_t places[] = {1, 17, 1999999, 2000001, SHORT / 2 - 1, SHORT / 2 + 1, SHORT - 1};
    static const uint64_t used[] = {SHORT, RANGE, SHORT / 2};
    unsigned n_values = 0;
    for (size_t u = 0; u < N_ROWS(used); u++) {
        for (size_t s = 0; s < N_ROWS(starts); s++) {
            for (size_t p = 0; p < N_ROWS(places); p++) {
                struct hm_papiraw raw = {.range = SHORT, .used_range = used[u], .is_known = true, .start = starts[s]};
                uint64_t value, reading = give(starts[s], places[p], used[u]);
                enum hm_papiraw_state got = hm_papiraw_take(&raw, reading, 1, &value);
                /* A value is never wrong. With the zone's own range there always is one, unless the reading equals the
                 * start. */
                if (got == HM_PAPIRAW_VALUE && value != places[p])
                    fail_msg("%zu %zu %zu: %llu", u, s, p, (unsigned long long)value);
                if (u == 0 && got != HM_PAPIRAW_VALUE && reading != starts[s])
                    fail_msg("%zu %zu %zu is state %d", u, s, p, got);
                n_values += got == HM_PAPIRAW_VALUE;
            }
        }
    }
    assert_true(n_values > 40);
}

/* Where PAPI cannot read a counter any more, it takes the range, which it read before, for the counter's value. */
static void test_unreadable(void **state)
{
    (void)state;
    static const uint64_t starts[] = {0, 1, 2000000, RANGE - 1};
    for (size_t i = 0; i < N_ROWS(starts); i++) {
        struct hm_papiraw raw = {.range = RANGE, .used_range = RANGE, .is_known = true, .start = starts[i]};
        uint64_t value;
        assert_int_equal(hm_papiraw_take(&raw, give(starts[i], RANGE, RANGE), 1, &value), HM_PAPIRAW_UNREADABLE);
        assert_int_equal(hm_papiraw_take(&raw, UINT64_MAX, 1, &value), HM_PAPIRAW_UNREADABLE);
    }
}

/* A counter that stands still at its start value reads like one at twice that value. The time may tell the difference;
 * else the state is ambiguous. */
static void test_standstill(void **state)
{
    (void)state;
    static const uint64_t second = 1000000000;
    static const struct {
        uint64_t start, last, elapsed_ns;
        enum hm_papiraw_state expected;
        uint64_t value;
    } rows[] = {
        {50000000000, 50000000000, second, HM_PAPIRAW_VALUE, 50000000000},
        {50000000000, 50000000000, 3 * second, HM_PAPIRAW_AMBIGUOUS, 0}, /* 20 kW for 3 s are more than 50 kJ */
        {50000000000, 99000000000, second, HM_PAPIRAW_VALUE, 100000000000},
        {50000000000, 49999999999, second, HM_PAPIRAW_VALUE, 50000000000}, /* it has wrapped since the start */
        {50000000000, 75000000000, second, HM_PAPIRAW_AMBIGUOUS, 0},       /* no value fits */
        {200000000000, 200000000000, second, HM_PAPIRAW_VALUE, 200000000000},
        /* twice the start, minus the range: PAPI adds the range after a wrap, not the modulus */
        {200000000000, 137000000000, second, HM_PAPIRAW_VALUE, 137856671150},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_papiraw raw = {.range = RANGE,
                                 .used_range = RANGE,
                                 .is_known = true,
                                 .start = rows[i].start,
                                 .last = rows[i].last,
                                 .last_ns = 5};
        uint64_t value = 0;
        if (hm_papiraw_take(&raw, rows[i].start, 5 + rows[i].elapsed_ns, &value) != rows[i].expected)
            fail_msg("row %zu", i);
        assert_int_equal(value, rows[i].value);
    }
}

/* Readings over many wraps, with standstill, and with values equal to the start's: the differences add up to what was
 * counted. */
static void test_sum(void **state)
{
    (void)state;
    static const uint64_t steps[] = {150000000, 0, 90000000000, 1, 90000000000, 0, 82143328851, 300000000};
    struct hm_papiraw raw = {.range = RANGE, .used_range = RANGE};
    struct hm_counter counter = {.modulus = RANGE + 1};
    uint64_t now = 5000000000, start = 0, value, counted = 0, expected = 0, difference;
    unsigned n_starts = 0;
    for (unsigned i = 0; i < 400; i++) {
        const uint64_t now_ns = i * UINT64_C(5000000000);
        uint64_t step = i == 0 ? 0 : steps[i % 8];
        if ((now + step) % (RANGE + 1) < 2000000 || (now + step) % (RANGE + 1) == RANGE)
            step += 2000001; /* a start near 0 would be ambiguous, and RANGE unreadable */
        now = (now + step) % (RANGE + 1);
        expected += step;
        enum hm_papiraw_state got = hm_papiraw_take(&raw, give(start, now, RANGE), now_ns, &value);
        if (got == HM_PAPIRAW_AMBIGUOUS) {
            n_starts++;
            start = now;
            got = hm_papiraw_begin(&raw, give(start, now, RANGE), now_ns, 50000, &value);
        }
        assert_int_equal(got, HM_PAPIRAW_VALUE);
        assert_int_equal(value, now);
        hm_counter_take(&counter, value, now_ns, &difference);
        counted += difference;
    }
    assert_int_equal(counted, expected);
    assert_true(n_starts > 1 && n_starts < 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beginnings), cmocka_unit_test(test_values), cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_standstill), cmocka_unit_test(test_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
