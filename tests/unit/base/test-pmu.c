/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parsers of sysfs' descriptions of PMU events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pmu.h"
#include "unit/lib/rows.h"

static void test_format_refuses(void **state)
{
    static const char *const rows[] = {
        "",
        "config",
        "config:",
        "config:,",
        "config:0,",
        ":0-7",
        "config4:0",
        "config0:0",
        "Config:0",
        "config:64",
        "config:0-64",
        "config:7-0",
        "config:-1",
        "config:0-",
        "config:0--1",
        "config:0-7-8",
        "config: 0-7",
        "config:0-7 ",
        "config:x",
        "config:0x1",
        "config:0-7\n",
        "config:0:1",
        "config1:0;1",
        "config:999999999999999999999",
        "config:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_pmu_format format;
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(hm_pmu_parse_format(rows[i], &format, &error), -1);
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, "is no format: config, config1, config2 or config3 with its bits"));
        assert_int_equal(hm_pmu_parse_format(rows[i], &format, NULL), -1);
    }
}

static void test_bits_of_a_value(void **state)
{
    static const struct {
        const char *format;
        uint64_t value;
        unsigned word;
        uint64_t wanted;
    } rows[] = {
        {"config:0-7", 0xe3, 0, 0xe3},
        {"config:8-15", 0x0f, 0, 0x0f00},
        {"config:18", 1, 0, UINT64_C(1) << 18},
        {"config:0-63", UINT64_MAX, 0, UINT64_MAX},
        {"config1:32-63", UINT32_MAX, 1, (uint64_t)UINT32_MAX << 32},
        {"config2:63", 1, 2, UINT64_C(1) << 63},
        {"config3:0", 1, 3, 1},
        {"config:8-15,32-39", 0xabcd, 0, UINT64_C(0xab0000cd00)},
        {"config:0-7,21", 0x1e8, 0, 0x2000e8},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_pmu_format format;
        struct hm_pmu_config config = {{0}};
        assert_int_equal(hm_pmu_parse_format(rows[i].format, &format, NULL), 0);
        assert_int_equal(hm_pmu_put(&config, &format, rows[i].value, NULL), 0);
        for (unsigned word = 0; word < HM_PMU_WORDS; word++)
            assert_int_equal(config.word[word], word == rows[i].word ? rows[i].wanted : 0);
        assert_int_equal(hm_pmu_put(&config, &format, 0, NULL), 0);
        assert_int_equal(config.word[rows[i].word], 0);
    }
}

/* The formats of Intel's memory controllers and of CXL. */
static int look_up(void *data, const char *term, char *text)
{
    static const struct {
        const char *term, *format;
    } rows[] = {{"event", "config:0-7"}, {"umask", "config:8-15"}, {"edge", "config:18"},      {"mask", "config:0-31"},
                {"gid", "config:32-47"}, {"vid", "config:48-63"},  {"thresh", "config1:0-15"}, {"broken", "config:x"}};
    (void)data;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (strcmp(rows[i].term, term) == 0) {
            snprintf(text, HM_PMU_TEXT, "%s", rows[i].format);
            return 0;
        }
    }
    return -1;
}

static void test_event_refuses(void **state)
{
    static const struct {
        const char *text, *part;
        int number;
    } rows[] = {
        {"", "\"\" is no term", EINVAL},
        {",", "\"\" is no term", EINVAL},
        {"event=0x04,", "\"\" is no term", EINVAL},
        {"=1", "\"=1\" is no term", EINVAL},
        {"event=", "\"event=\" is no term", EINVAL},
        {"event=0x", "\"event=0x\" is no term", EINVAL},
        {"event=4x", "\"event=4x\" is no term", EINVAL},
        {"event=-1", "\"event=-1\" is no term", EINVAL},
        {"event=?", "\"event=?\" is no term", EINVAL},
        {"event=1=2", "\"event=1=2\" is no term", EINVAL},
        {"event=0x10000000000000000", "is no term", EINVAL},
        {"event=18446744073709551616", "is no term", EINVAL},
        {"event=0x04 ,umask=0x03", "\"event=0x04 \" is no term", EINVAL},
        {"../../type", "\"../../type\" is no term", EINVAL},
        {"event=0x04\n", "is no term", EINVAL},
        {"event=0x04,ldlat=3", "no format for the term \"ldlat\"", EINVAL},
        {"event=0x104", "term \"event\": 0x104 has more bits than the format", ERANGE},
        {"edge=2", "term \"edge\": 0x2 has more bits", ERANGE},
        {"broken=1", "term \"broken\": \"config:x\" is no format", EINVAL},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_pmu_config config;
        struct hm_error error = {""};
        assert_int_equal(hm_pmu_parse_event(rows[i].text, look_up, NULL, &config, &error), -1);
        assert_int_equal(errno, rows[i].number);
        assert_non_null(strstr(error.text, rows[i].part));
    }
    char longest[200];
    struct hm_error error = {""};
    struct hm_pmu_config config;
    memset(longest, 'e', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(hm_pmu_parse_event(longest, look_up, NULL, &config, &error), -1);
    assert_non_null(strstr(error.text, "too long"));
}

static void test_events_of_kernels(void **state)
{
    static const struct {
        const char *text;
        uint64_t config, config1;
    } rows[] = {
        {"event=0x04,umask=0x03", 0x0304, 0},
        {"event=0x05,umask=0xcf", 0xcf05, 0},
        {"event=0xff,umask=0x30", 0x30ff, 0},
        {"event=0x02", 0x02, 0},
        {"umask=15,event=4", 0x0f04, 0},
        {"event=0x04,edge", 0x40004, 0},
        {"event=0x04,thresh=0xffff", 0x04, 0xffff},
        {"vid=0x1e98,gid=0x20,mask=0x2", UINT64_C(0x1e98002000000002), 0},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_pmu_config config;
        assert_int_equal(hm_pmu_parse_event(rows[i].text, look_up, NULL, &config, NULL), 0);
        assert_int_equal(config.word[0], rows[i].config);
        assert_int_equal(config.word[1], rows[i].config1);
    }
}

static void test_scale(void **state)
{
    static const char *const bad[] = {"",   "0",   "-1", "nan", "inf", "1e999", "0x1p3", "1 ",
                                      " 1", "1,5", "1e", "e",   "--1", "1-1",   "1e-999"};
    struct hm_error error = {""};
    double scale;
    (void)state;
    for (size_t i = 0; i < N_ROWS(bad); i++) {
        assert_int_equal(hm_pmu_parse_scale(bad[i], &scale, &error), -1);
        assert_non_null(strstr(error.text, "is no scale"));
    }
    assert_int_equal(hm_pmu_parse_scale("2.3283064365386962890625e-10", &scale, NULL), 0);
    assert_true(scale == 1.0 / (UINT64_C(1) << 32));
    assert_int_equal(hm_pmu_parse_scale("64", &scale, NULL), 0);
    assert_true(scale == 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format_refuses), cmocka_unit_test(test_bits_of_a_value),
        cmocka_unit_test(test_event_refuses),  cmocka_unit_test(test_events_of_kernels),
        cmocka_unit_test(test_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
