/* SPDX-License-Identifier: Apache-2.0 */
/* What is undone, waited for and said where namespaces cannot be made or removed; the memory is pretended. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakepmem.h"

static struct hm_config config;
static struct hm_error error;

static int begin(void **state)
{
    error.text[0] = '\0';
    return fake_begin(state);
}

static int reap(const char *living)
{
    struct hm_namespace_request request = {.living = living, .patience_s = 2, .lock = fake.lock};
    return hm_namespace_reap(&config, &request, &error);
}

static void test_what_is_in_use_is_waited_for_together(void **state)
{
    (void)state;
    fake_add(1, 0, ALWAYS, false);
    fake_add(2, 0, 0, false);
    fake_add(3, 0, ALWAYS, false);
    fake_add(4, 0, ALWAYS, false);
    assert_int_equal(reap("4.0"), HM_NAMESPACE_BUSY);
    assert_int_equal(fake.pauses, 20);
    assert_int_equal(fake.n_there, 3);
    assert_int_equal(fake.there[0].tries, 21);
    assert_int_equal(fake.there[1].tries, 21);
    assert_int_equal(fake.there[2].tries, 0);
    assert_string_equal(error.text,
                        "job1.0 is still in use after 2 s: /dev/nopmem0 is mounted or open in no process that /proc "
                        "shows; job3.0 is still in use after 2 s: /dev/nopmem0 is mounted or open in no process that "
                        "/proc shows");
}

static void test_no_longer_than_it_takes(void **state)
{
    (void)state;
    fake_add(1, 0, 3, false);
    fake_add(1, 1, 5, false);
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(fake.pauses, 5);
    assert_int_equal(fake.n_there, 0);
    assert_string_equal(error.text, "");
}

static void test_a_failure_is_worth_more_than_one_in_use(void **state)
{
    (void)state;
    fake_add(1, 0, ALWAYS, false);
    fake_add(2, 0, 0, true);
    fake_add(3, 0, 0, false);
    assert_int_equal(reap(""), HM_NAMESPACE_REFUSED);
    assert_int_equal(fake.n_there, 2);
    assert_int_equal(fake.there[1].tries, 1);
    assert_string_equal(error.text,
                        "job2.0 is left: no wipe; job1.0 is still in use after 2 s: /dev/nopmem0 is mounted or open "
                        "in no process that /proc shows");
}

static void test_a_wipe_that_wants_more_time_is_another_status(void **state)
{
    (void)state;
    fake_add(1, 0, ALWAYS, false);
    fake_add(2, 0, 0, false);
    fake.there[1].is_late = true;
    fake_add(3, 0, 0, false);
    assert_int_equal(reap(""), HM_NAMESPACE_LATE);
    assert_int_equal(fake.n_there, 2);
    assert_non_null(strstr(error.text, "job2.0 is left: no time; job1.0 is still in use after 2 s: "));
    fake.there[1].is_late = false;
    fake.there[1].fails = true;
    fake_add(4, 0, 0, false);
    fake.there[2].is_late = true;
    assert_int_equal(reap(""), HM_NAMESPACE_REFUSED);
}

static int create(void)
{
    struct hm_namespace_request request = {
        .cluster = "c", .job_id = 7, .bytes = GIB, .filesystem = hm_mkfs_at(0), .patience_s = 1, .lock = fake.lock};
    assert_int_equal(hm_set_parse(&request.sockets, "0,1", &error), 0);
    return hm_namespace_create(&config, &request, &error);
}

static void test_all_is_made_or_nothing(void **state)
{
    (void)state;
    fake.fails_on = 1;
    assert_int_equal(create(), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "mkfs failed on /dev/nopmem1");
    assert_int_equal(fake.n_there, 0);
}

static void test_what_cannot_be_undone_is_said(void **state)
{
    (void)state;
    fake.fails_on = 1;
    fake.stays = true;
    assert_int_equal(create(), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "mkfs failed on /dev/nopmem1; job7.0 is left: no wipe; job7.1 is left: no wipe");
    assert_int_equal(fake.n_there, 2);
}

static void test_what_nobody_was_told_of_is_undone(void **state)
{
    (void)state;
    fflush(stdout);
    int before = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(dup2(full, STDOUT_FILENO) >= 0);
    int status = create();
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    close(full);
    assert_int_equal(status, HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "cannot print the namespaces");
    assert_int_equal(fake.n_there, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_in_use_is_waited_for_together, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_no_longer_than_it_takes, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_wipe_that_wants_more_time_is_another_status, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_failure_is_worth_more_than_one_in_use, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_all_is_made_or_nothing, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_undone_is_said, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_what_nobody_was_told_of_is_undone, begin, fake_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
