/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the bursts that the broker makes with the kernel's idle bitmap, on a simulated one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "burstfixture.h"
#include "unit/lib/scratch.h"

#define FRAMES 16

static uint64_t first_frame; /* the frame of a process's page 0 */
static uint64_t in_place_of; /* what is found in place of page 1's frame; 0: nothing */
static bool refuses;         /* no page map can be read */
static unsigned n_marks[FRAMES], n_looks[FRAMES];
static uint32_t used;    /* looks that find a use, as bits */
static uint64_t look_ns; /* how long a look takes */

int __wrap_hm_idle_find(const struct hm_idle_bitmap *bitmap, pid_t pid, const uint64_t *page, unsigned n,
                        uint64_t *frame, struct hm_error *error);
int __wrap_hm_idle_mark(const struct hm_idle_bitmap *bitmap, uint64_t frame);
int __wrap_hm_idle_look(const struct hm_idle_bitmap *bitmap, uint64_t frame, bool *is_used);

int __wrap_hm_idle_find(const struct hm_idle_bitmap *bitmap, pid_t pid, const uint64_t *page, unsigned n,
                        uint64_t *frame, struct hm_error *error)
{
    assert_ptr_equal(bitmap, &broker.idle);
    if (refuses)
        return hm_fail(error, EACCES, "cannot open /proc/%d/pagemap", (int)pid);
    for (unsigned i = 0; i < n; i++)
        frame[i] = page[i] == 1 && in_place_of != 0 ? in_place_of : first_frame + page[i];
    return 0;
}

int __wrap_hm_idle_mark(const struct hm_idle_bitmap *bitmap, uint64_t frame)
{
    assert_ptr_equal(bitmap, &broker.idle);
    assert_in_range(frame, 0, FRAMES - 1);
    n_marks[frame]++;
    return 0;
}

int __wrap_hm_idle_look(const struct hm_idle_bitmap *bitmap, uint64_t frame, bool *is_used)
{
    assert_ptr_equal(bitmap, &broker.idle);
    assert_in_range(frame, 0, FRAMES - 1);
    *is_used = used >> n_looks[frame]++ & 1;
    kernel.now_ns += look_ns;
    return 0;
}

static int set_up(void **state)
{
    first_frame = in_place_of = 0;
    refuses = false;
    look_ns = 0;
    used = 0x15; /* three of six */
    memset(n_marks, 0, sizeof(n_marks));
    memset(n_looks, 0, sizeof(n_looks));
    if (lease_set_up(state) != 0)
        return -1;
    lease_looker = HM_DAMON_BY_BITMAP;
    hm_fail(&broker.problem, ENODEV, "this kernel has no DAMON");
    return 0;
}

/* Watches this process, two pages of it. */
static void watch(void)
{
    const pid_t pid = getpid();
    struct hm_damon_answer reply = lease_watch(&pid, 1);
    assert_int_equal(reply.number, 0);
    lease_work_after(0);
    assert_true(lease.idle.is_on);
}

static void look_once(void)
{
    lease_work_after((uint64_t)lease.bursts.pages.look_us * 1000);
}

static void look_to_the_end(void)
{
    for (unsigned i = 0; i < HM_DAMON_VISIT_LOOKS; i++)
        look_once();
    assert_false(lease.idle.is_on);
}

static void looks_need_no_kdamond(void **state)
{
    (void)state;
    watch();
    assert_int_equal(hm_damon_lease_wait_ms(&lease), lease.bursts.pages.look_us / 1000 + 1);
    for (unsigned i = 1; i < HM_DAMON_VISIT_LOOKS; i++) {
        look_once();
        burst_assert_silent();
        assert_int_equal(n_looks[1], i);
        lease_work_after(1); /* no look is due */
        assert_int_equal(n_looks[1], i);
        kernel.now_ns--;
    }
    look_once();
    assert_false(lease.idle.is_on);
    const struct hm_damon_list *list = &lease_hear()->list;
    assert_int_equal(list->head.kind, HM_DAMON_LIST);
    assert_int_equal(list->way, HM_DAMON_BURSTS);
    assert_int_equal(list->head.n, 2);
    assert_int_equal(list->region[0].accesses, 3);
    assert_int_equal(list->region[0].looks, HM_DAMON_VISIT_LOOKS);
    assert_int_equal(list->region[0].look_us, lease.bursts.pages.look_us);
    assert_int_equal(kernel.starts, 0);
    assert_int_equal(broker.owned.n, 0);
}

static void late_looks_say_how_late(void **state)
{
    (void)state;
    watch();
    for (unsigned i = 0; i < HM_DAMON_VISIT_LOOKS; i++)
        lease_work_after((uint64_t)lease.bursts.pages.look_us * 1500);
    assert_int_equal(lease_hear()->list.region[0].look_us, lease.bursts.pages.look_us * 3 / 2);
}

static void looks_that_are_close_come_in_a_row(void **state)
{
    (void)state;
    watch();
    uint32_t first_us = lease.bursts.pages.look_us;
    lease.bursts.pages.look_us = 500;
    lease_work_after(first_us * UINT64_C(1000));
    assert_false(lease.idle.is_on);
    assert_int_equal(n_looks[1], HM_DAMON_VISIT_LOOKS);
}

static void the_time_of_looks_is_paid_for_once(void **state)
{
    (void)state;
    watch();
    uint32_t first_us = lease.bursts.pages.look_us;
    lease.bursts.pages.look_us = 500;
    look_ns = 100000;
    lease_work_after(first_us * UINT64_C(1000));
    assert_false(lease.idle.is_on);
    assert_true(lease.bursts.next_ns == kernel.now_ns + 16 * HM_DAMON_VISIT_LOOKS * 2 * look_ns);
}

static void only_what_was_used_is_marked_again(void **state)
{
    (void)state;
    watch();
    assert_int_equal(n_marks[1], 1);
    look_once(); /* finds a use */
    assert_int_equal(n_marks[1], 2);
    look_once(); /* finds none: the bit is still set */
    assert_int_equal(n_marks[1], 2);
    for (unsigned i = 2; i < HM_DAMON_VISIT_LOOKS; i++)
        look_once();
    assert_int_equal(n_marks[1], 4);
}

static void assert_only_page_3_is_told(void)
{
    const struct hm_damon_list *list = &lease_hear()->list;
    assert_int_equal(list->head.n, 1);
    assert_int_equal(list->region[0].start, 3 * hm_page_size());
}

static void a_page_that_moved_says_nothing(void **state)
{
    (void)state;
    watch();
    in_place_of = 9;
    look_to_the_end();
    assert_only_page_3_is_told();
}

static void a_page_that_the_kernel_does_not_follow_says_nothing(void **state)
{
    (void)state;
    in_place_of = HM_IDLE_UNKNOWN;
    watch();
    look_to_the_end();
    assert_int_equal(n_marks[1], 0);
    assert_only_page_3_is_told();
}

static void a_page_that_is_not_in_memory_was_not_used(void **state)
{
    (void)state;
    in_place_of = HM_IDLE_ABSENT;
    watch();
    look_to_the_end();
    assert_int_equal(n_looks[1], 0);
    assert_true(lease.bursts.found[0].is_known);
    assert_int_equal(lease.bursts.found[0].accesses, 0);
}

static void the_client_is_told_why_nothing_can_be_seen(void **state)
{
    (void)state;
    const pid_t pid = getpid();
    refuses = true;
    assert_int_equal(lease_watch(&pid, 1).number, 0);
    for (unsigned i = 0; lease.n > 0 && i < 10; i++)
        lease_work_after(2 * SECOND_NS);
    assert_int_equal(lease.n, 0);
    const struct hm_damon_answer *answer = &lease_hear()->answer;
    assert_int_equal(answer->number, EACCES);
    assert_non_null(strstr(answer->text, "pagemap"));
}

static void a_kernel_without_the_bitmap_is_named(void **state)
{
    (void)state;
    hm_fail(&broker.no_idle, ENOENT, "this kernel has no idle bitmap");
    struct hm_damon_answer reply = lease_ask();
    assert_int_equal(reply.number, ENODEV);
    assert_string_equal(reply.text, "this kernel has no idle bitmap");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(looks_need_no_kdamond, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(late_looks_say_how_late, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(looks_that_are_close_come_in_a_row, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(the_time_of_looks_is_paid_for_once, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(only_what_was_used_is_marked_again, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_page_that_moved_says_nothing, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_page_that_the_kernel_does_not_follow_says_nothing, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_page_that_is_not_in_memory_was_not_used, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(the_client_is_told_why_nothing_can_be_seen, set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_without_the_bitmap_is_named, set_up, lease_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
