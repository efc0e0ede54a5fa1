/* SPDX-License-Identifier: Apache-2.0 */
/* Tests hm_look: what its child process finds is handed on, and a child that hangs is ended in time. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/look.h"

#define SHORT 10    /* ms */
#define LONG 100000 /* ms */

struct found {
    int before, after;
};

/* Hands on what it is asked, and returns it. */
static int repeat(const void *question, void *data)
{
    struct found *found = data;
    found->before += 1;
    found->after = *(const int *)question;
    return found->after;
}

static int hang(const void *question, void *data)
{
    (void)question, (void)data;
    pause();
    return 0;
}

/* Dies half way, as a child does whose time is over. */
static int find_and_die(const void *question, void *data)
{
    (void)question;
    ((struct found *)data)->before += 1;
    return raise(SIGKILL);
}

static void test_what_a_child_finds_is_handed_on(void **state)
{
    (void)state;
    int question = 0;
    struct found found = {.before = 7};
    assert_int_equal(hm_look(repeat, &question, &found, sizeof(found), LONG), 0);
    assert_int_equal(found.before, 8);
    question = EACCES;
    assert_int_equal(hm_look(repeat, &question, &found, sizeof(found), LONG), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(found.before, 9);
    assert_int_equal(found.after, EACCES);
    assert_int_equal(hm_look(find_and_die, NULL, &found, sizeof(found), LONG), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(found.before, 10);
}

static void test_a_look_that_hangs_is_ended(void **state)
{
    (void)state;
    struct found found = {.before = 7};
    assert_int_equal(hm_look(hang, NULL, &found, sizeof(found), SHORT), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(found.before, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_child_finds_is_handed_on),
        cmocka_unit_test(test_a_look_that_hangs_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
