/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that what a program writes is read, whatever it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/hear.h"

#define LONG 200000 /* more than a pipe holds */

static char output[LONG + 1], errors[16];
static int status;

static int hear(const char *path, char *script, int patience_ms)
{
    char name[] = "sh", option[] = "-c", locale[] = "LC_ALL=C";
    char *words[] = {name, option, script, NULL}, *environment[] = {locale, NULL};
    const struct hm_spawn spawn = {
        .path = path, .arguments = words, .environment = environment, .extra = -1, .dies_with_parent = true};
    memset(output, 'x', sizeof(output));
    memset(errors, 'x', sizeof(errors));
    status = -2;
    return hm_spawn_hear(&spawn, patience_ms, (struct hm_heard){output, sizeof(output)},
                         (struct hm_heard){errors, sizeof(errors)}, &status, NULL);
}

static void test_both_texts_and_the_status(void **state)
{
    char script[] = "echo said >&2; echo printed; exit 3";
    (void)state;
    assert_int_equal(hear("/bin/sh", script, 60000), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert_string_equal(output, "printed\n");
    assert_string_equal(errors, "said\n");
}

static void test_more_than_a_pipe_holds(void **state)
{
    char script[] = "printf '%0200000d' 0; printf '%0200000d' 0 >&2";
    (void)state;
    assert_int_equal(hear("/bin/sh", script, 60000), 0);
    assert_int_equal(status, 0);
    assert_int_equal(strlen(output), LONG);
    assert_string_equal(errors, "000000000000000"); /* cut */
}

static void test_a_limit_on_the_size_of_files(void **state)
{
    char script[] = "echo said >&2; echo printed";
    struct rlimit before;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int result = hear("/bin/sh", script, 60000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(result, 0);
    assert_int_equal(status, 0);
    assert_string_equal(output, "printed\n");
    assert_string_equal(errors, "said\n");
}

static void test_a_program_that_does_not_end(void **state)
{
    char script[] = "exec sleep 1000";
    (void)state;
    assert_int_equal(hear("/bin/sh", script, 1), 0);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(status, -1);
    assert_string_equal(output, "");
}

static void test_a_program_that_is_missing(void **state)
{
    char script[] = "";
    (void)state;
    assert_int_equal(hear("/nowhere/sh", script, 60000), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(output, "");
    assert_string_equal(errors, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_texts_and_the_status),    cmocka_unit_test(test_more_than_a_pipe_holds),
        cmocka_unit_test(test_a_limit_on_the_size_of_files), cmocka_unit_test(test_a_program_that_does_not_end),
        cmocka_unit_test(test_a_program_that_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
