/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the lines of hybridmem-papi and hybridmem-slurmenergy are parsed and written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "meter/papi/line.h"
#include "unit/lib/rows.h"

static struct hm_papi_line line;
static struct hm_error error;

static int parse(const char *text)
{
    static char copy[HM_PAPI_LINE_SIZE];
    snprintf(copy, sizeof(copy), "%s", text);
    return hm_papi_line_parse(copy, &line, &error);
}

static const char *const bad_lines[] = {
    "",
    " ",
    "rdmsr error, msr 611",
    "papi",
    "papi ",
    "papi 2 7.0.0",
    "papi 1",
    "papi 1 ",
    "papi  1 7.0.0",
    "slurm",
    "slurm 2 24.11.5",
    "component",
    "component rapl",
    "component rapl in because",
    "component rapl out",
    "component rapl out ",
    "component rapl off",
    "component rapl out a\tb",
    "ready",
    "ready -1",
    "ready 513",
    "ready 1 ",
    "ready 1 2",
    "read",
    "read ",
    "read x",
    "read 1 ",
    "read 1  2",
    "read 1 -1",
    "read 1 +1",
    "read 1 1.5",
    "read 1 18446744073709551616",
    "read 1 2 --",
    "error",
    "error ",
    "error \033[2J",
    "event 0 package-energy - 0 uJ 5",
    "event 0 package-energy - 0 uJ 5 ",
    "event 512 package-energy - 0 uJ 5 a",
    "event 0 energy - 0 uJ 5 a",
    "event 0 package-energy ddr 0 uJ 5 a",
    "event 0 package-energy - 0 j 5 a",
    "event 0 package-energy - 8192 uJ 5 a",
    "event 0 package-energy - -1 uJ 5 a",
    "event 0 package-energy - 0 uJ - a",
    "event 0 package-energy - 0 uJ 5 a\nb",
    "Event 0 package-energy - 0 uJ 5 a",
};

static void test_bad_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(bad_lines); i++) {
        errno = 0;
        if (parse(bad_lines[i]) != -1 || errno != EBADMSG || !error.text[0])
            fail_msg("\"%s\" was taken", bad_lines[i]);
    }
}

/* A name that is too long is refused, as a cut name would be another one. */
static void test_longest_names(void **state)
{
    char text[2 * HM_PAPI_NAME + 64];
    (void)state;
    snprintf(text, sizeof(text), "event 0 count - - 1 0 %0*d", HM_PAPI_NAME, 0);
    assert_int_equal(parse(text), -1);
    snprintf(text, sizeof(text), "event 0 count - - 1 0 %0*d", HM_PAPI_NAME - 1, 0);
    assert_int_equal(parse(text), 0);
    snprintf(text, sizeof(text), "component %0*d in", HM_PAPI_NAME, 0);
    assert_int_equal(parse(text), -1);
}

static void test_lines(void **state)
{
    (void)state;
    assert_int_equal(parse("papi 1 7.0.0"), 0);
    assert_int_equal(line.type, HM_PAPI_LINE_PAPI);
    assert_string_equal(line.name, "7.0.0");
    assert_int_equal(parse("slurm 1 24.11.5"), 0);
    assert_int_equal(line.type, HM_PAPI_LINE_SLURM);
    assert_string_equal(line.name, "24.11.5");
    assert_int_equal(parse("component rapl in"), 0);
    assert_true(line.is_in);
    assert_int_equal(parse("component perf_event_uncore out No uncore PMUs or events found"), 0);
    assert_false(line.is_in);
    assert_string_equal(line.name, "perf_event_uncore");
    assert_string_equal(line.text, "No uncore PMUs or events found");
    assert_int_equal(parse("ready 512"), 0);
    assert_int_equal(line.number, 512);
    assert_int_equal(parse("read 18446744073709551615"), 0);
    assert_int_equal(line.number, 0);
    assert_int_equal(parse("read 5 1 - 18446744073709551615"), 0);
    assert_int_equal(line.number, 3);
    assert_true(line.is_known[0] && line.value[0] == 1 && !line.is_known[1]);
    assert_true(line.is_known[2] && line.value[2] == UINT64_MAX);
    assert_int_equal(parse("error PAPI does not start: no"), 0);
    assert_string_equal(line.text, "PAPI does not start: no");
}

static void test_events(void **state)
{
    (void)state;
    static const struct hm_papi_event rows[] = {
        {HM_PAPI_PACKAGE_ENERGY, HM_KIND_UNKNOWN, 0, HM_PAPI_MICROJOULE, 262143328851, "powercap:::ENERGY_UJ:ZONE0"},
        {HM_PAPI_WRITE_BYTES, HM_KIND_PMEM, 8191, HM_PAPI_LINE, 0, "icx_unc_imc0::UNC_M_PMM_WPQ_INSERTS:cpu=3"},
        {HM_PAPI_COUNT, HM_KIND_UNKNOWN, -1, HM_PAPI_ONE, UINT64_MAX, "a name with spaces"},
    };
    char text[512];
    for (unsigned i = 0; i < N_ROWS(rows); i++) {
        int length = hm_papi_line_event(i, &rows[i], text, sizeof(text));
        assert_int_equal(length, strlen(text));
        assert_int_equal(text[length - 1], '\n');
        assert_int_equal(hm_papi_line_event(i, &rows[i], text, (size_t)length), -1);
        hm_papi_line_event(i, &rows[i], text, sizeof(text));
        text[length - 1] = '\0';
        assert_int_equal(parse(text), 0);
        assert_int_equal(line.type, HM_PAPI_LINE_EVENT);
        assert_int_equal(line.number, i);
        assert_true(line.event.measure == rows[i].measure && line.event.kind == rows[i].kind);
        assert_true(line.event.unit == rows[i].unit && line.event.modulus == rows[i].modulus);
        assert_int_equal(line.event.socket, rows[i].socket);
        assert_string_equal(line.event.name, rows[i].name);
    }
}

static void test_longest_reading(void **state)
{
    (void)state;
    static uint64_t value[HM_PAPI_MOST_EVENTS];
    static bool is_known[HM_PAPI_MOST_EVENTS];
    static char text[HM_PAPI_LINE_SIZE];
    for (int i = 0; i < HM_PAPI_MOST_EVENTS; i++) {
        value[i] = UINT64_MAX - (uint64_t)i;
        is_known[i] = i != 5;
    }
    int length = hm_papi_line_read(UINT64_MAX, value, is_known, HM_PAPI_MOST_EVENTS, text, sizeof(text));
    assert_true(length > 0 && (size_t)length < sizeof(text) && text[length - 1] == '\n');
    text[length - 1] = '\0';
    assert_int_equal(parse(text), 0);
    assert_int_equal(line.number, HM_PAPI_MOST_EVENTS);
    for (int i = 0; i < HM_PAPI_MOST_EVENTS; i++)
        assert_true(line.is_known[i] == is_known[i] && (i == 5 || line.value[i] == value[i]));
    memcpy(text + length - 1, " 1", 3);
    assert_int_equal(parse(text), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_longest_names),   cmocka_unit_test(test_lines),
        cmocka_unit_test(test_events),    cmocka_unit_test(test_longest_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
