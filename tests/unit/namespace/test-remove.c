/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is undone, waited for and reported when namespaces cannot be made or removed; the memory is simulated. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakepmem.h"
#include "unit/lib/rows.h"

static struct hm_config config = {.fsdax_trust = true}; /* on any kernel */
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

/* The time that the tries take counts as well, as a node's time limit for an epilog also runs during a try. */
static void test_patience_is_time_and_not_a_number_of_tries(void **state)
{
    (void)state;
    fake_add(1, 0, ALWAYS, false);
    fake.try_ms = 700;
    assert_int_equal(reap(""), HM_NAMESPACE_BUSY);
    assert_int_equal(fake.pauses, 2);
}

static void test_the_wait_ends_as_soon_as_nothing_is_in_use(void **state)
{
    (void)state;
    fake_add(1, 0, 3, false);
    fake_add(1, 1, 5, false);
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(fake.pauses, 5);
    assert_int_equal(fake.n_there, 0);
    assert_string_equal(error.text, "");
}

static void test_a_failure_outranks_a_namespace_in_use(void **state)
{
    (void)state;
    fake_add(1, 0, ALWAYS, false);
    fake_add(2, 0, 0, true);
    fake_add(3, 0, 0, false);
    assert_int_equal(reap(""), HM_NAMESPACE_LEFT);
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
    fake.there[1].late_by = ETIME;
    fake_add(3, 0, 0, false);
    assert_int_equal(reap(""), HM_NAMESPACE_LATE);
    assert_int_equal(fake.n_there, 2);
    assert_non_null(strstr(error.text, "job2.0 is left: not now; job1.0 is still in use after 2 s: "));
    fake.there[1].late_by = 0;
    fake.there[1].fails = true;
    fake_add(4, 0, 0, false);
    fake.there[2].late_by = ETIME;
    assert_int_equal(reap(""), HM_NAMESPACE_LEFT);
}

/* A shortage of memory or descriptors passes: a later reap tries again, and the node is not drained. */
static void test_a_shortage_is_for_a_later_try(void **state)
{
    (void)state;
    fake_add(1, 0, 0, false);
    fake.there[0].late_by = ENOMEM;
    assert_int_equal(reap(""), HM_NAMESPACE_LATE);
    assert_string_equal(error.text, "job1.0 is left: not now");
    fake.no_pmem_by = EMFILE;
    assert_int_equal(reap(""), HM_NAMESPACE_LATE);
    assert_string_equal(error.text, "no libndctl");
    fake.no_pmem_by = EIO;
    assert_int_equal(reap(""), HM_NAMESPACE_REFUSED);
    assert_int_equal(fake.n_there, 1);
}

static int destroy(unsigned patience_s, bool detaches, unsigned detach_s)
{
    struct hm_namespace_request request = {.cluster = "c",
                                           .job_id = 7,
                                           .patience_s = patience_s,
                                           .detaches = detaches,
                                           .detach_s = detach_s,
                                           .lock = fake.lock};
    return hm_namespace_destroy(&config, &request, &error);
}

static void test_mounts_are_detached_after_a_while(void **state)
{
    (void)state;
    fake_add(7, 0, ALWAYS, false);
    fake_add(8, 1, ALWAYS, false);
    fake.there[0].detached_after = fake.there[1].detached_after = -1;
    assert_int_equal(destroy(2, false, 0), HM_NAMESPACE_BUSY);
    assert_int_equal(destroy(2, true, 3), HM_NAMESPACE_BUSY);
    assert_int_equal(fake.there[0].detached_after, -1);
    fake.there[0].tries = fake.pauses = 0;
    assert_int_equal(destroy(2, true, 1), HM_NAMESPACE_DONE);
    assert_int_equal(fake.pauses, 10);
    assert_int_equal(fake.n_there, 1);
    assert_int_equal(fake.there[0].detached_after, -1); /* it is another job's */
}

/* The lock is held while mounts are detached, and others wait: all devices of a job have one limit of 10 s. */
static void test_detaching_has_one_limit_for_all_devices(void **state)
{
    (void)state;
    for (unsigned socket = 0; socket < MOST; socket++)
        fake_add(7, socket, ALWAYS, false);
    fake.detach_hangs = true;
    uint64_t begun_ms = fake.now_ms;
    assert_int_equal(destroy(0, true, 0), HM_NAMESPACE_BUSY);
    assert_in_range(fake.now_ms - begun_ms, 9999, 10001);
}

static void test_what_is_open_behind_a_detached_mount_is_said(void **state)
{
    (void)state;
    fake_add(7, 0, ALWAYS, false);
    fake.there[0].has_open_files = true;
    assert_int_equal(destroy(1, true, 0), HM_NAMESPACE_BUSY);
    assert_int_equal(fake.there[0].detached_after, 0);
    assert_int_equal(fake.pauses, 10);
    assert_string_equal(error.text, "job7.0 is still in use after 1 s: /dev/nopmem0 is mounted or open in 12 (sleep)");
}

/* Waiting for the lock uses up the patience for namespaces in use. It does not use up the time before a detach. */
static void test_waiting_for_the_lock_uses_up_patience(void **state)
{
    (void)state;
    struct hm_namespace_request request = {.cluster = "c",
                                           .job_id = 7,
                                           .patience_s = 5,
                                           .since_ns = (fake.now_ms - 2000) * 1000000,
                                           .detaches = true,
                                           .detach_s = 1,
                                           .lock = fake.lock};
    fake_add(7, 0, ALWAYS, false);
    fake.there[0].has_open_files = true;
    assert_int_equal(hm_namespace_destroy(&config, &request, &error), HM_NAMESPACE_BUSY);
    assert_int_equal(fake.pauses, 30);
    assert_int_equal(fake.there[0].detached_after, 10);
}

/* The time for which create has waited for the lock, and worked, is not taken from the undo's patience. */
static void test_an_undo_has_a_patience_of_its_own(void **state)
{
    (void)state;
    const struct hm_namespace_request request = {
        .job_id = 7, .patience_s = 600, .since_ns = (fake.now_ms - 60000) * 1000000, .lock = fake.lock};
    fake_add(7, 0, 3, false);
    assert_int_equal(hm_namespace_undo("c", &request, &error), HM_NAMESPACE_DONE);
    assert_int_equal(fake.pauses, 3);
}

static void test_a_mark_goes_once_its_namespace_is_free(void **state)
{
    (void)state;
    struct there *kept = fake_keep(1001, 5, 0, GIB);
    struct hm_namespace_request request = {.cluster = "c", .uid = 1001, .patience_s = 2, .lock = fake.lock};
    kept->busy = 3;
    kept->late_by = ETIME;
    assert_int_equal(hm_namespace_destroy(&config, &request, &error), HM_NAMESPACE_LATE);
    assert_int_equal(kept->tries, 4);
    assert_int_equal(kept->mark, MARK_NONE);
}

/* A mark says that all namespaces made together are finished. After a kill between two removals, none must say so. */
static void test_all_marks_go_before_the_first_namespace(void **state)
{
    (void)state;
    const struct hm_namespace_request request = {.cluster = "c", .uid = 1001, .patience_s = 2, .lock = fake.lock};
    fake_keep(1001, 5, 0, GIB);
    fake_keep(1001, 5, 1, GIB);
    assert_int_equal(hm_namespace_destroy(&config, &request, &error), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 0);
    assert_int_equal(fake.marked, 0);
}

/* Another process removes what is waited for, and makes user 2000's namespace, which gets the same device. */
static void give_device_to_another(void)
{
    char device[sizeof(fake.there[0].namespace.device)];
    memcpy(device, fake.there[0].namespace.device, sizeof(device));
    fake.n_there = 0;
    struct there *other = fake_keep(2000, 9, 0, GIB);
    memcpy(other->namespace.device, device, sizeof(device));
    other->detached_after = -1;
    fake.at_pause = NULL;
}

static void test_a_device_that_is_anothers_by_now_is_left_alone(void **state)
{
    for (int of_user = 0; of_user < 2; of_user++) {
        assert_int_equal(fake_end(state), 0);
        assert_int_equal(fake_begin(state), 0);
        const struct hm_namespace_request request = {.cluster = "c",
                                                     .job_id = of_user ? 0 : 7,
                                                     .uid = of_user ? 1001 : 0,
                                                     .patience_s = 2,
                                                     .detaches = true,
                                                     .detach_s = 1,
                                                     .lock = fake.lock};
        if (of_user)
            fake_keep(1001, 5, 0, GIB)->busy = ALWAYS;
        else
            fake_add(7, 0, ALWAYS, false);
        fake.at_pause = give_device_to_another;
        assert_int_equal(hm_namespace_destroy(&config, &request, &error), HM_NAMESPACE_DONE);
        assert_int_equal(fake.n_there, 1);
        assert_int_equal(fake.there[0].mark, MARK_THERE);
        assert_int_equal(fake.there[0].detached_after, -1);
    }
}

static void fail_to_look(void)
{
    fake.no_pmem_by = EMFILE;
}

static void test_a_look_after_a_pause_that_fails_is_for_a_later_try(void **state)
{
    (void)state;
    fake_add(7, 0, ALWAYS, false);
    fake.at_pause = fail_to_look;
    assert_int_equal(destroy(2, false, 0), HM_NAMESPACE_LATE);
    assert_string_equal(error.text, "job7.0 is left: no libndctl");
    assert_int_equal(fake.pauses, 1);
}

/* Run a reap, and read what it prints on standard error. */
static int reap_heard(const char *living, char *heard, size_t size)
{
    int before = dup(STDERR_FILENO), file = memfd_create("errors", MFD_CLOEXEC);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    error.text[0] = '\0';
    int status = reap(living);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    ssize_t length = pread(file, heard, size - 1, 0);
    assert_true(length >= 0);
    heard[length] = '\0';
    close(file);
    return status;
}

/* The policy is the kernel's auto_online_blocks. If it cannot be put back, that is reported, but no namespace is kept
 * because of it. */
static void test_a_reap_puts_back_the_policy_for_new_memory(void **state)
{
    static const struct {
        bool is_policy_left, fails;
        const char *living;
        int status;
        const char *heard, *text;
    } rows[] = {
        {false, false, "", HM_NAMESPACE_DONE, "", ""},
        {true, false, "", HM_NAMESPACE_DONE, "hybridmem namespace: cannot write the policy\n", ""},
        {true, true, "", HM_NAMESPACE_LEFT, "hybridmem namespace: cannot write the policy\n",
         "job1.0 is left: no wipe"},
        {true, false, "x", HM_NAMESPACE_REFUSED, "hybridmem namespace: cannot write the policy\n",
         "--living: \"x\" is neither "},
    };
    char heard[256];
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("row %zu\n", i);
        assert_int_equal(fake_end(state), 0);
        assert_int_equal(fake_begin(state), 0);
        fake.is_policy_left = rows[i].is_policy_left;
        fake_add(1, 0, 0, rows[i].fails);
        assert_int_equal(reap_heard(rows[i].living, heard, sizeof(heard)), rows[i].status);
        assert_string_equal(heard, rows[i].heard);
        assert_int_equal(strncmp(error.text, rows[i].text, strlen(rows[i].text)), 0);
        assert_int_equal(error.text[0] == '\0', rows[i].text[0] == '\0');
        assert_int_equal(fake.n_there, rows[i].status == HM_NAMESPACE_DONE ? 0 : 1);
        assert_int_equal(fake.released, 1);
    }
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

static void test_nothing_is_made_that_the_next_boot_ends(void **state)
{
    (void)state;
    fake.ends_at_boot = true;
    assert_int_equal(create(), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "the next boot ends all");
    assert_int_equal(fake.n_there, 0);
}

static void test_what_cannot_be_undone_is_said(void **state)
{
    (void)state;
    fake.fails_on = 1;
    fake.stays = true;
    assert_int_equal(create(), HM_NAMESPACE_LEFT);
    assert_string_equal(error.text, "mkfs failed on /dev/nopmem1; job7.0 is left: no wipe; job7.1 is left: no wipe");
    assert_int_equal(fake.n_there, 2);
}

static void test_namespaces_that_cannot_be_printed_are_removed(void **state)
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
    assert_string_equal(error.text, "standard output: No space left on device");
    assert_int_equal(fake.n_there, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_in_use_is_waited_for_together, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_patience_is_time_and_not_a_number_of_tries, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_the_wait_ends_as_soon_as_nothing_is_in_use, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_wipe_that_wants_more_time_is_another_status, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_shortage_is_for_a_later_try, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_failure_outranks_a_namespace_in_use, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_mounts_are_detached_after_a_while, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_detaching_has_one_limit_for_all_devices, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_what_is_open_behind_a_detached_mount_is_said, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_waiting_for_the_lock_uses_up_patience, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_an_undo_has_a_patience_of_its_own, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_mark_goes_once_its_namespace_is_free, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_all_marks_go_before_the_first_namespace, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_device_that_is_anothers_by_now_is_left_alone, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_look_after_a_pause_that_fails_is_for_a_later_try, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_a_reap_puts_back_the_policy_for_new_memory, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_all_is_made_or_nothing, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_nothing_is_made_that_the_next_boot_ends, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_undone_is_said, begin, fake_end),
        cmocka_unit_test_setup_teardown(test_namespaces_that_cannot_be_printed_are_removed, begin, fake_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
