/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the DAMON broker's decisions: who gets a kdamond, its settings, its cost, and what its records mean. */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/damon/broker/sysfs.h"
#include "migrator/damon/gathering.h"
#include "migrator/damon/pool.h"
#include "migrator/damon/tune.h"
#include "migrator/damon/wire.h"
#include "unit/lib/rows.h"

static struct hm_error error;

static void an_empty_pool_refuses(void **state)
{
    (void)state;
    struct hm_damon_pool pool = {0};
    assert_int_equal(hm_damon_pool_lend(&pool, 1, 0, &error), -1);
    assert_int_equal(errno, EBUSY);
}

static void the_last_is_kept_for_another_user(void **state)
{
    (void)state;
    struct hm_damon_pool pool = {.n = 3};
    assert_int_equal(hm_damon_pool_lend(&pool, 1, 1000, &error), 0);
    assert_int_equal(hm_damon_pool_lend(&pool, 2, 1000, &error), 1);
    assert_int_equal(hm_damon_pool_lend(&pool, 2, 1000, &error), 1);
    assert_int_equal(hm_damon_pool_lend(&pool, 3, 1000, &error), -1);
    assert_non_null(strstr(error.text, "the last of 3 is kept"));
    assert_int_equal(hm_damon_pool_lend(&pool, 4, 1001, &error), 2);
    assert_int_equal(hm_damon_pool_lend(&pool, 5, 1002, &error), -1);
    assert_int_equal(errno, EBUSY);
    assert_non_null(strstr(error.text, "all 3 are lent"));
    hm_damon_pool_take_back(&pool, 1);
    hm_damon_pool_take_back(&pool, 1);
    assert_int_equal(hm_damon_pool_lent(&pool), 2);
    assert_int_equal(hm_damon_pool_lend(&pool, 6, 1000, &error), -1);
    assert_int_equal(hm_damon_pool_lend(&pool, 7, 0, &error), 0);
}

/*
 * The users who ask for a kdamond in turn, and the result: its index; -1: refused, as the last one is kept for a user
 * who has none, or as none is left; -2: refused, as the user has half of them or more, and others have some.
 */
static void nobody_gets_more_than_half_beside_others(void **state)
{
    (void)state;
    static const struct {
        uid_t uid;
        int then;
    } rows[] = {{1000, 0},  {1000, 1}, {1000, 2},  {1000, 3},  {1000, 4}, {1001, 5},
                {1000, -2}, {1001, 6}, {1000, -1}, {1001, -1}, {0, 7},    {0, -1}};
    struct hm_damon_pool pool = {.n = 8};
    for (uint32_t i = 0; i < N_ROWS(rows); i++) {
        error.text[0] = '\0';
        int got = hm_damon_pool_lend(&pool, i + 1, rows[i].uid, &error);
        if (got < 0 && strstr(error.text, "you have half of the 8"))
            got = -2;
        assert_int_equal(got, rows[i].then);
    }
    /* When the others have gone, the user can have all but the last again. */
    hm_damon_pool_take_back(&pool, 6);
    hm_damon_pool_take_back(&pool, 11);
    assert_int_equal(hm_damon_pool_lend(&pool, 20, 1000, &error), -1);
    hm_damon_pool_take_back(&pool, 8);
    assert_int_equal(hm_damon_pool_lend(&pool, 20, 1000, &error), 5);
}

static void one_kdamond_serves_whoever_comes_first(void **state)
{
    (void)state;
    struct hm_damon_pool pool = {.n = 1};
    assert_int_equal(hm_damon_pool_lend(&pool, 1, 1000, &error), 0);
    assert_int_equal(hm_damon_pool_lend(&pool, 2, 1000, &error), -1);
}

static void a_users_kdamonds_share_a_tenth_of_the_cpus(void **state)
{
    (void)state;
    struct hm_damon_pool pool = {.n = 4};
    hm_damon_pool_lend(&pool, 1, 1000, &error);
    hm_damon_pool_lend(&pool, 2, 1001, &error);
    assert_int_equal(hm_damon_pool_budget(&pool, 1000, 4, 900000), 400000);
    hm_damon_pool_lend(&pool, 3, 1000, &error);
    assert_int_equal(hm_damon_pool_budget(&pool, 1000, 4, 900000), 200000);
    assert_int_equal(hm_damon_pool_budget(&pool, 1000, 4, 5000), 5000);
    assert_int_equal(hm_damon_pool_budget(&pool, 1001, 4, 900000), 400000);
    assert_int_equal(hm_damon_pool_budget(&pool, 1000, 0, 900000), HM_DAMON_MIN_BUDGET);
    assert_int_equal(hm_damon_pool_budget(&pool, 0, 1, 900000), 900000);
}

/* After a kdamond's end its number may belong to another thread. */
static void only_kdamonds_cost_is_counted(void **state)
{
    (void)state;
    char name[16];
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_true(hm_damon_cpu_ns(getpid()) == 0);
    assert_int_equal(prctl(PR_SET_NAME, "kdamond.12"), 0);
    /* The kernel counts CPU time at its ticks, and a young process may have had none. */
    while (hm_damon_cpu_ns(getpid()) == 0 && clock() < CLOCKS_PER_SEC)
        sched_yield();
    assert_true(hm_damon_cpu_ns(getpid()) > 0);
    assert_int_equal(prctl(PR_SET_NAME, name), 0);
    assert_true(hm_damon_cpu_ns(-1) == 0);
}

/* The cost with half of max_regions, the number that DAMON settles at. */
static double cost(const struct hm_damon_settings *settings, double each_s)
{
    return settings->max_regions / 2.0 * each_s / (settings->look_us * 1e-6);
}

static uint32_t fewest(uint32_t n_processes)
{
    return n_processes * 6 > 10 ? n_processes * 6 : 10;
}

/* The first settings are valid for the kernel, whatever the needs. They are within the budget if that is possible, and
 * give a phase at least two aggregations if the budget has room for them. */
static void first_settings_fit(void **state)
{
    (void)state;
    const uint32_t intervals[] = {1000, 10000, 3600000}, budgets[] = {100, 5000, 20000, 1000000};
    const uint32_t processes[] = {0, 1, 4, 64, HM_DAMON_TARGETS}, ranges[] = {1, HM_DAMON_RANGES};
    for (unsigned i = 0; i < 3 * 4 * 5 * 2; i++) {
        uint32_t n = processes[i / 12 % 5];
        struct hm_damon_needs needs = {.interval_ms = intervals[i % 3],
                                       .budget = budgets[i / 3 % 4],
                                       .n_processes = n,
                                       .n_ranges = n * ranges[i / 60]};
        struct hm_damon_settings first = hm_damon_tune_first(&needs);
        assert_in_range(first.look_us, 5000, 250000);
        assert_in_range(first.min_regions, 3, first.max_regions / 4); /* the kernel takes no fewer than 3 */
        assert_in_range(first.max_regions, 2 * fewest(needs.n_processes), HM_DAMON_MOST_REGIONS);
        bool is_least = first.max_regions <= 2 * fewest(needs.n_processes);
        assert_true((uint64_t)first.look_us * HM_DAMON_LOOKS * 2 <= (uint64_t)needs.interval_ms * 1000 ||
                    first.look_us == 5000 || is_least);
        assert_true((is_least && first.look_us == 250000) || cost(&first, 3e-6) <= needs.budget * 1e-6 * 1.001);
    }
}

/*
 * Tuning ends, whatever a look at a region costs (1.3 times `costs`, seconds), and however often the program touches
 * its pages (`rates`, per second). The settings then cost at most 1.3 times the budget, or are the least that there
 * are.
 */
static void settles_within_the_budget(void **state)
{
    (void)state;
    const double costs[] = {5e-7, 3e-6, 3e-5}, rates[] = {0.1, 5, 500};
    for (int i = 0; i < 9; i++) {
        struct hm_damon_needs needs = {.interval_ms = 10000, .budget = 10000, .n_processes = 4, .n_ranges = 4};
        struct hm_damon_settings settings = hm_damon_tune_first(&needs);
        bool moves = true;
        for (int turn = 0; turn < 20 && moves; turn++) {
            double look_s = settings.look_us * 1e-6;
            struct hm_damon_measured measured = {.cpu_s = 5 * cost(&settings, costs[i % 3]) * 1.3,
                                                 .wall_s = 5,
                                                 .accessed = 1 - exp(-rates[i / 3] * look_s)};
            moves = hm_damon_tune(&needs, &measured, &settings);
        }
        assert_false(moves);
        bool is_least = settings.max_regions <= 2 * fewest(needs.n_processes) && settings.look_us >= 249000;
        assert_true(is_least || cost(&settings, costs[i % 3]) * 1.3 <= 0.01 * 1.3);
        /* The time between looks grows before there are fewer than the wanted 40 regions for each process. */
        assert_true(settings.max_regions >= 2 * 40 * 4 - 1 || settings.look_us >= 249000);
    }
}

static void nothing_measured_changes_nothing(void **state)
{
    (void)state;
    struct hm_damon_needs needs = {.interval_ms = 10000, .budget = 10000, .n_processes = 1};
    struct hm_damon_settings settings = hm_damon_tune_first(&needs), before = settings;
    assert_false(hm_damon_tune(&needs, &(struct hm_damon_measured){.wall_s = 5}, &settings));
    assert_memory_equal(&settings, &before, sizeof(before));
}

static const char format[] = "name: damon_aggregated\nID: 734\nformat:\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:unsigned long target_id;\toffset:8;\tsize:8;\tsigned:0;\n"
                             "\tfield:unsigned int nr_regions;\toffset:16;\tsize:4;\tsigned:0;\n"
                             "\tfield:unsigned long start;\toffset:24;\tsize:8;\tsigned:0;\n"
                             "\tfield:unsigned long end;\toffset:32;\tsize:8;\tsigned:0;\n"
                             "\tfield:unsigned int nr_accesses;\toffset:40;\tsize:4;\tsigned:0;\n"
                             "\tfield:unsigned int age;\toffset:44;\tsize:4;\tsigned:0;\n";

static void a_format_without_a_field_is_refused(void **state)
{
    (void)state;
    const char *const fields[] = {"ID: ", "target_id;", "nr_regions;", "start;", "end;", "nr_accesses;"};
    struct hm_damon_layout layout;
    char text[sizeof(format)];
    for (size_t i = 0; i < N_ROWS(fields); i++) {
        memcpy(text, format, sizeof(format));
        *strstr(text, fields[i]) = 'X';
        assert_int_equal(hm_damon_layout_parse(text, &layout, &error), -1);
        assert_int_equal(errno, EBADMSG);
    }
    assert_int_equal(hm_damon_layout_parse(format, &layout, &error), 0);
    assert_int_equal(layout.id, 734);
    assert_int_equal(layout.field[HM_DAMON_FIELD_ACCESSES].offset, 40);
}

#define RING 1024

static uint8_t ring[RING];
static uint64_t head;
static uint64_t record_ns; /* time of the last record */

static void put(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ring[head++ % RING] = ((const uint8_t *)bytes)[i];
}

static void put_region(uint64_t target, uint32_t count, uint64_t start, uint64_t end, uint32_t accesses)
{
    struct {
        struct perf_event_header header;
        uint64_t time_ns;
        uint32_t raw_size;
        uint8_t raw[52];
    } record = {.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(record)},
                .time_ns = record_ns += 1000,
                .raw_size = sizeof(record.raw)};
    memcpy(record.raw + 8, &target, 8);
    memcpy(record.raw + 16, &count, 4);
    memcpy(record.raw + 24, &start, 8);
    memcpy(record.raw + 32, &end, 8);
    memcpy(record.raw + 40, &accesses, 4);
    put(&record, sizeof(record));
}

static void put_lost(uint64_t n)
{
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } record = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)}, .lost = n};
    put(&record, sizeof(record));
}

static char seen[256];
static uint64_t seen_ns; /* time of the last list */

/* Writes "target:accesses,accesses " for each list. */
static void note(void *data, const struct hm_damon_gathering *list)
{
    (void)data;
    seen_ns = list->time_ns;
    size_t used = strlen(seen);
    used += (size_t)snprintf(seen + used, sizeof(seen) - used, "%u:", list->target);
    for (uint32_t i = 0; i < list->n; i++)
        used += (size_t)snprintf(seen + used, sizeof(seen) - used, "%u%s", list->region[i].accesses,
                                 i + 1 < list->n ? "," : " ");
}

static struct hm_damon_gathering gathering;
static uint64_t lost;

static void read_ring(uint64_t tail)
{
    struct hm_damon_layout layout;
    seen[0] = '\0';
    assert_int_equal(hm_damon_layout_parse(format, &layout, &error), 0);
    assert_true(hm_damon_gathering_read(&layout, ring, RING, tail, head, &gathering, &lost, note, NULL) == head);
}

static void lists_are_put_together_over_readings_and_the_rings_end(void **state)
{
    (void)state;
    memset(&gathering, 0, sizeof(gathering));
    lost = 0;
    head = RING - 100; /* the second record wraps at the ring's end */
    uint64_t tail = head;
    put_region(0, 2, 0x1000, 0x2000, 5);
    put_region(0, 2, 0x2000, 0x3000, 6);
    put_region(1, 3, 0x1000, 0x2000, 7);
    read_ring(tail);
    assert_string_equal(seen, "0:5,6 ");
    assert_true(seen_ns == record_ns - 1000);
    tail = head;
    put_region(1, 3, 0x5000, 0x6000, 8);
    put_region(1, 3, 0x6000, 0x7000, 9);
    read_ring(tail);
    assert_string_equal(seen, "1:7,8,9 ");
    assert_true(seen_ns == record_ns);
    assert_true(lost == 0);
}

static void lists_that_are_not_whole_are_dropped_and_counted(void **state)
{
    (void)state;
    memset(&gathering, 0, sizeof(gathering));
    lost = 0;
    head = 0;
    put_region(0, 2, 0x1000, 0x2000, 1);
    put_lost(3);
    put_region(0, 2, 0x2000, 0x3000, 2); /* begins a list, which the next region, at a lower address, interrupts */
    put_region(0, 2, 0x1000, 0x2000, 3);
    put_region(0, 2, 0x2000, 0x3000, 4);
    put_region(1, HM_DAMON_MOST_REGIONS + 1, 0x1000, 0x2000, 5);
    put_region(2, 1, 0x2000, 0x1000, 6); /* ends before it starts */
    put_region(2, 1, 0x1000, 0x2000, 7);
    read_ring(0);
    assert_string_equal(seen, "0:3,4 2:7 ");
    assert_true(lost >= 4);
}

static void a_torn_ring_is_left_alone(void **state)
{
    (void)state;
    memset(&gathering, 0, sizeof(gathering));
    head = 0;
    put_region(0, 1, 0x1000, 0x2000, 1);
    head += 2 * RING;
    read_ring(0);
    assert_string_equal(seen, "");
    struct perf_event_header endless = {.type = PERF_RECORD_SAMPLE, .size = 0};
    uint64_t tail = head;
    put(&endless, sizeof(endless));
    read_ring(tail);
    assert_string_equal(seen, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_pool_refuses),
        cmocka_unit_test(the_last_is_kept_for_another_user),
        cmocka_unit_test(nobody_gets_more_than_half_beside_others),
        cmocka_unit_test(one_kdamond_serves_whoever_comes_first),
        cmocka_unit_test(only_kdamonds_cost_is_counted),
        cmocka_unit_test(first_settings_fit),
        cmocka_unit_test(a_users_kdamonds_share_a_tenth_of_the_cpus),
        cmocka_unit_test(settles_within_the_budget),
        cmocka_unit_test(nothing_measured_changes_nothing),
        cmocka_unit_test(a_format_without_a_field_is_refused),
        cmocka_unit_test(lists_are_put_together_over_readings_and_the_rings_end),
        cmocka_unit_test(lists_that_are_not_whole_are_dropped_and_counted),
        cmocka_unit_test(a_torn_ring_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
