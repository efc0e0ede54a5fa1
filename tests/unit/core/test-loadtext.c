/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parser of the text that describes two tiers under load. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/load/text.h"
#include "unit/lib/rows.h"

#define WHOLE "channels separate\nfast idle 80ns peak 200GB/s\nslow 0GB/s 300ns\n"

static void test_a_text(void **state)
{
    static const char text[] =
        "# of a node with CXL\n\nchannels separate # PCIe\n"
        "  fast\tidle 80ns peak 213.5GB/s\r\nslow 0GB/s 300ns\nslow 40.5GB/s 350ns\nslow 80GB/s 900ns";
    struct hm_load load;
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_load_parse("f", text, strlen(text), &load, &error), 0);
    assert_int_equal(load.channels, HM_CHANNELS_SEPARATE);
    assert_float_equal(hm_curve_idle_ns(&load.fast), 80, 0);
    assert_float_equal(hm_curve_most_gbs(&load.fast), 0.95 * 213.5, 1e-9);
    assert_int_equal(load.slow.n, 3);
    assert_float_equal(hm_curve_latency(&load.slow, 40.5), 350, 1e-9);
    assert_float_equal(hm_curve_most_gbs(&load.slow), 80, 0);
    static const char shared[] = "slow 8GB/s 300ns\nfast 9GB/s 80ns\nchannels shared\n";
    assert_int_equal(hm_load_parse("f", shared, strlen(shared), &load, &error), 0);
    assert_int_equal(load.channels, HM_CHANNELS_SHARED);
}

/* What is wrong is named, with the line and what would be right. */
static void test_bad_texts(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"", "f: it does not say whether the tiers share channels"},
        {"channels separate\nslow 1GB/s 1ns\n", "f: the fast tier has no point with traffic"},
        {WHOLE, "f: the slow tier has no point with traffic"},
        {WHOLE "middle 1GB/s 1ns\n", "f:4: \"middle\" is not known"},
        {WHOLE "channels shared\n", "f:4: channels: the line is there twice"},
        {WHOLE "slow 9 300ns\n", "f:4: \"9\" is not a number of GB/s"},
        {WHOLE "slow 9GB/s 300\n", "f:4: \"300\" is not a number of ns"},
        {WHOLE "slow 9GB/s 200ns\n", "f:4: a latency of 200 ns does not follow 300"},
        {WHOLE "slow 0GB/s 400ns\n", "f:4: a traffic of 0 GB/s does not follow 0"},
        {WHOLE "slow 9GB/s\n", "f:4: neither a point nor idle and peak"},
        {WHOLE "slow idle 9ns\n", "f:4: neither a point nor idle and peak"},
        {WHOLE "slow idle 9ns peak 9GB/s\n", "f:4: the tier has points or a peak already"},
        {WHOLE "fast 9GB/s 9ns\n", "f:4: a traffic of 9 GB/s does not follow"},
        {WHOLE "slow 9GB/s 300ns 9GB/s 300ns 9GB/s 300ns\n", "f:4: there are too many words"},
        {"channels both\n", "f:1: channels: write"},
        {"channels\n", "f:1: channels: write"},
        {"fast idle 0ns peak 9GB/s\n", "f:1: a latency of 0 ns is out of range"},
        {"fast idle 9ns peak 0GB/s\n", "f:1: a peak of 0 GB/s is out of range"},
        {"fast idle -9ns peak 9GB/s\n", "f:1: \"-9ns\" is not a number of ns"},
    };
    struct hm_load load;
    char line[300];
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(hm_load_parse("f", rows[i].text, strlen(rows[i].text), &load, &error), -1);
        assert_int_equal(errno, EBADMSG);
        if (strncmp(error.text, rows[i].said, strlen(rows[i].said)) != 0)
            fail_msg("%s: not %s", error.text, rows[i].said);
    }
    memset(line, 'x', sizeof(line));
    assert_int_equal(hm_load_parse("f", line, sizeof(line), &load, NULL), -1);
    assert_int_equal(hm_load_parse("f", "fast\0", 5, &load, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text),
        cmocka_unit_test(test_bad_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
