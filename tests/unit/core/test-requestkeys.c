/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the keys of the modes with a migrator, which hybridmem.conf can also give, and the sources of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/request/request.h"
#include "unit/lib/rows.h"

static const struct {
    const char *text;
    struct hm_migrate_keys keys;
} key_rows[] = {
    {"fast=1M", {.fast_bytes = 1 << 20}},
    {"fast=16777215T", {.fast_bytes = UINT64_C(16777215) << 40}},
    {"fast=0.01%", {.fast_percent = 0.01}},
    {"fast=100%", {.fast_percent = 100}},
    {"period=100", {.period = 100}},
    {"period=1099511627776", {.period = UINT64_C(1) << 40}},
    {"interval=100ms", {.interval_ms = 100}},
    {"interval=24h", {.interval_ms = 86400000}},
    {"bins=16", {.bins = 16}},
    {"bins=1048576", {.bins = 1048576}},
    {"algorithm=regions", {.algorithm = HM_ALGORITHM_REGIONS}},
    {"algorithm=bins", {.algorithm = HM_ALGORITHM_BINS}},
    {"source=auto", {.source = "auto"}},
    {"source=perf", {.source = "perf"}},
    {"source=damon", {.source = "damon"}},
    {"source=faults", {.source = "faults"}},
    {"hot-by=accesses", {.hot_by = HM_HOT_BY_ACCESSES}},
    {"hot-by=writes", {.hot_by = HM_HOT_BY_WRITES}},
    {"overhead=0.01%", {.overhead_percent = 0.01}},
    {"overhead=10%", {.overhead_percent = 10}},
    {"rate=1M", {.rate_bytes = 1 << 20}},
    {"rate=2G,bins=99,fast=25%,source=perf",
     {.rate_bytes = UINT64_C(2) << 30, .bins = 99, .fast_percent = 25, .source = "perf"}},
};

/* The option and the configuration parse keys in the same way. */
static void test_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(key_rows); i++) {
        struct hm_request request;
        struct hm_migrate_keys keys;
        char text[128];
        snprintf(text, sizeof(text), "migrate,%s", key_rows[i].text);
        memset(&keys, 0x55, sizeof(keys));
        assert_int_equal(hm_request_parse(text, &request, NULL), 0);
        assert_memory_equal(&request.migrate, &key_rows[i].keys, sizeof(keys));
        assert_int_equal(hm_request_parse_keys(key_rows[i].text, &keys, NULL), 0);
        assert_memory_equal(&keys, &key_rows[i].keys, sizeof(keys));
    }
}

static void test_keys_of_the_site_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"", "it is empty: write KEY=VALUE or KEY=VALUE,KEY=VALUE"},
        {"bins=99,", "bins=99,: a part after a comma is empty: write KEY=VALUE or KEY=VALUE,KEY=VALUE"},
        {"speed=1",
         "speed=1: unknown key \"speed\": migrate takes socket, fast, period, interval, bins, algorithm, source, "
         "overhead, rate or hot-by"},
        {"migrate", "migrate: migrate takes no key \"migrate\": it belongs to guided"},
        {"bins=9", "bins=9: bins wants a number of 16 to 1048576, not \"9\""},
        {"bins=99,bins=99", "bins=99,bins=99: bins is there twice: write it once"},
        {"socket=all", "socket=all: socket is the job's to choose: leave it out"},
        {"size=1G", "size=1G: migrate takes no key \"size\": it belongs to fsdax"},
    };
    char text[400];
    struct hm_migrate_keys keys;
    struct hm_error error;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(hm_request_parse_keys(rows[i].text, &keys, &error), -1);
        assert_string_equal(error.text, rows[i].said);
    }
    memset(text, 'b', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(hm_request_parse_keys(text, &keys, &error), -1);
    assert_non_null(strstr(error.text, "too long"));
}

static void test_missing_keys_are_completed(void **state)
{
    struct hm_migrate_keys keys = {.fast_percent = 10, .bins = 50};
    const struct hm_migrate_keys others = {.fast_bytes = 1 << 30,
                                           .period = 200,
                                           .interval_ms = 3000,
                                           .bins = 70,
                                           .rate_bytes = 5 << 20,
                                           .overhead_percent = 2,
                                           .algorithm = HM_ALGORITHM_BINS,
                                           .source = "perf",
                                           .hot_by = HM_HOT_BY_WRITES};
    struct hm_migrate_keys wanted = others;
    (void)state;
    wanted.fast_bytes = 0;
    wanted.fast_percent = 10;
    wanted.bins = 50;
    hm_request_complete_keys(&keys, &others);
    assert_memory_equal(&keys, &wanted, sizeof(keys));
    hm_request_complete_keys(&keys, &(struct hm_migrate_keys){0});
    assert_memory_equal(&keys, &wanted, sizeof(keys));
}

static void test_words_of_keys(void **state)
{
    (void)state;
    assert_null(hm_algorithm_name(HM_ALGORITHM_UNSAID));
    assert_string_equal(hm_algorithm_name(HM_ALGORITHM_REGIONS), "regions");
    assert_string_equal(hm_algorithm_name(HM_ALGORITHM_BINS), "bins");
    assert_null(hm_algorithm_name((enum hm_algorithm)3));
    assert_null(hm_hot_by_name(HM_HOT_BY_UNSAID));
    assert_string_equal(hm_hot_by_name(HM_HOT_BY_ACCESSES), "accesses");
    assert_string_equal(hm_hot_by_name(HM_HOT_BY_WRITES), "writes");
    assert_null(hm_hot_by_name((enum hm_hot_by)3));
}

static void test_sources(void **state)
{
    (void)state;
    for (int i = 0; hm_sampling_at(i); i++) {
        const char *name = hm_sampling_at(i)->name;
        assert_true(hm_sampling_is_word(name));
        assert_true(hm_sampling_has(name, hm_sampling_at(i)->has));
        assert_false(hm_sampling_may_have(name, ~hm_sampling_at(i)->has));
        assert_true(hm_sampling_may_have("auto", hm_sampling_at(i)->has));
    }
    assert_null(hm_sampling_at(-1));
    assert_true(hm_sampling_is_word("auto"));
    assert_false(hm_sampling_is_word("") || hm_sampling_is_word("ibs") || hm_sampling_is_word("perfect"));
    assert_false(hm_sampling_has("auto", ~0u) || hm_sampling_has("ibs", ~0u) || hm_sampling_may_have("", ~0u));
    assert_true(hm_sampling_has("faults", HM_SAMPLING_BALANCING) && hm_sampling_has("damon", HM_SAMPLING_BROKER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_keys_of_the_site_refused),
        cmocka_unit_test(test_missing_keys_are_completed),
        cmocka_unit_test(test_words_of_keys),
        cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
