/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests how long a prolog or epilog (the hook) waits for its hybridmem-job (the program), and how the program tells the
 * hook.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/namespaces/hooklimit.h"
#include "unit/lib/rows.h"

/* What the program has told the hook since the last call of hear(), as numbers; 0 where a line is not there. */
struct told {
    unsigned first_s, second_s;
};

static struct hm_config config;
static int told_fd; /* a pipe: the other end is this program's standard error */

static int set_up(void **state)
{
    (void)state;
    int ends[2];
    hm_config_defaults(&config);
    alarm(0);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    told_fd = ends[0];
    return *state || !(*state = fdopen(dup(STDERR_FILENO), "w")) || dup2(ends[1], STDERR_FILENO) < 0 || close(ends[1]);
}

static int tear_down(void **state)
{
    alarm(0);
    close(told_fd);
    int result = dup2(fileno(*state), STDERR_FILENO) < 0;
    return fclose(*state) || result;
}

static struct told hear(void)
{
    struct told told = {0};
    char text[256], *second;
    ssize_t length = read(told_fd, text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    if (!(second = strchr(text, '\n')))
        return told;
    *second++ = '\0';
    assert_true(hm_hooklimit_parse(text, &told.first_s));
    if (!strchr(second, '\n'))
        return told;
    *strchr(second, '\n') = '\0';
    assert_true(hm_hooklimit_parse(second, &told.second_s));
    return told;
}

/* Memory that is wiped for minutes is no reason to kill the prolog that makes the job's file systems. */
static void a_wipe_may_take_as_long_as_the_site_allows(void **state)
{
    static const struct {
        unsigned wipe_limit_s;
        enum hm_slow_ram ram;
        unsigned least_s, most_s;
    } rows[] = {
        {0, HM_SLOW_RAM_NONE, 86400, 2 * 86400},
        {600, HM_SLOW_RAM_NONE, 700, 800},
        {600, HM_SLOW_RAM_MOVABLE, 1300, 1400},
        {86400, HM_SLOW_RAM_MOVABLE, 86400, 2 * 86400},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        config.fsdax_wipe_limit_s = rows[i].wipe_limit_s;
        config.ram = rows[i].ram;
        unsigned most_s = hm_hooklimit_most_s(&config);
        assert_true(most_s >= rows[i].least_s && most_s <= rows[i].most_s);
        hm_hooklimit_begin();
        hm_hooklimit_resume(hm_hooklimit_pause(&config));
        unsigned told_s = hear().first_s;
        assert_true(told_s <= most_s && told_s > most_s - 30);
    }
}

/* Whatever hangs before or after the wipe is left behind soon, also on a node with persistent memory. */
static void the_hook_waits_longer_only_during_a_wipe(void **state)
{
    (void)state;
    hm_hooklimit_begin();
    unsigned left_s = hm_hooklimit_pause(&config);
    assert_true(left_s > 30 && left_s <= HM_HOOKLIMIT_OWN_S);
    assert_int_equal(alarm(0), 0);
    errno = EBUSY;
    hm_hooklimit_resume(left_s);
    assert_int_equal(errno, EBUSY);
    assert_true(alarm(0) > 30);
    struct told told = hear();
    assert_true(told.first_s > 86400 && told.second_s > left_s && told.second_s <= HM_HOOKLIMIT_FIRST_S);
}

/* reap has no hook that waits for it. */
static void without_a_clock_nothing_is_told(void **state)
{
    (void)state;
    unsigned left_s = hm_hooklimit_pause(&config);
    assert_int_equal(left_s, 0);
    hm_hooklimit_resume(left_s);
    assert_int_equal(alarm(0), 0);
    assert_int_equal(hear().first_s, 0);
}

static void other_lines_are_not_for_the_hook(void **state)
{
    static const char *const lines[] = {"",          "limit: ",    "limit: 0",      "limit: -1",
                                        "limit: 5s", "limits: 5 ", "limit: 172801", "error: limit: 5"};
    unsigned limit_s = 0;
    (void)state;
    for (size_t i = 0; i < N_ROWS(lines); i++)
        assert_false(hm_hooklimit_parse(lines[i], &limit_s));
    assert_true(hm_hooklimit_parse("limit: 172800", &limit_s));
    assert_int_equal(limit_s, 172800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wipe_may_take_as_long_as_the_site_allows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_hook_waits_longer_only_during_a_wipe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_clock_nothing_is_told, set_up, tear_down),
        cmocka_unit_test(other_lines_are_not_for_the_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
