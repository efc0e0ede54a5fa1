/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests when kept namespaces are given to a job as they are, made anew, refused, or removed. The memory is simulated.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fakepmem.h"
#include "namespace/pmem/mark.h"
#include "namespace/pmem/overdue.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MIB (UINT64_C(1) << 20)
#define MIDNIGHT 1764374400 /* 2025-11-29 */
#define MINUTE (MIDNIGHT / 60)
#define LEFT_ALONE                                                                                                     \
    ": it is left alone until 2025-11-29T02:00:00Z, for an administrator to look at, or to remove (hybridmem "         \
    "namespace destroy --uid 1001)"

static struct hm_config config;
static struct hm_error error;
static int64_t now;

time_t __wrap_time(time_t *out);

time_t __wrap_time(time_t *out)
{
    assert_null(out);
    return (time_t)now;
}

static int begin(void **state)
{
    hm_config_defaults(&config);
    config.fsdax_trust = true; /* so that any kernel is accepted (hm_dax_kernel_check) */
    snprintf(config.path, sizeof(config.path), "/etc/hybridmem.conf");
    scratch_remove(scratch_path("run"));
    snprintf(config.run_dir, sizeof(config.run_dir), "%s", scratch_path("run"));
    config.keep_percent = 50;
    config.keep_age_s = 2 * 3600;
    now = MIDNIGHT + 59;
    error.text[0] = '\0';
    return fake_begin(state);
}

static int create(uint32_t uid, const char *sockets, uint64_t bytes)
{
    struct hm_namespace_request request = {.cluster = "c",
                                           .job_id = 7,
                                           .uid = uid,
                                           .keep = true,
                                           .bytes = bytes,
                                           .filesystem = hm_mkfs_at(0),
                                           .patience_s = 3600,
                                           .lock = fake.lock};
    error.text[0] = '\0';
    assert_int_equal(hm_set_parse(&request.sockets, sockets, &error), 0);
    return hm_namespace_create(&config, &request, &error);
}

static int reap(const char *living)
{
    struct hm_namespace_request request = {.living = living, .patience_s = 1, .lock = fake.lock};
    return hm_namespace_reap(&config, &request, &error);
}

/* A reap notes what is past its age; the second one, late enough, wipes it. */
static int reap_twice(const char *living)
{
    int status = reap(living);
    fake.now_ms += HM_OVERDUE_S * 1000;
    return status == HM_NAMESPACE_DONE ? reap(living) : status;
}

static int destroy(uint32_t uid)
{
    struct hm_namespace_request request = {.uid = uid, .patience_s = 1, .lock = fake.lock};
    return hm_namespace_destroy(&config, &request, &error);
}

static void test_a_set_is_made_once_and_given_again(void **state)
{
    (void)state;
    assert_int_equal(create(1001, "0-1", 256 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 2);
    for (int i = 0; i < 2; i++) {
        const struct hm_owner *owner = &fake.there[i].namespace.owner;
        assert_int_equal(owner->kind, HM_OWNER_USER);
        assert_int_equal(owner->uid, 1001);
        assert_int_equal(owner->minute, MINUTE);
        assert_int_equal(owner->job_id, 0);
        assert_int_equal(fake.there[i].mark, MARK_THERE);
    }
    assert_int_equal(fake.fs_bytes, 127 * MIB); /* the device's last MiB is for the mark (mark.h) */
    assert_true(fake.fs_is_kept);
    assert_int_equal(fake.first_mounts, 2);
    now += 3600;
    assert_int_equal(create(1001, "0-1", 256 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(create(1001, "0-1", 32 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 2);
    assert_int_equal(fake.there[1].namespace.owner.minute, MINUTE);
    assert_int_equal(fake.first_mounts, 2);
    assert_int_equal(fake.looks, 4);
}

static void test_each_user_has_their_own(void **state)
{
    (void)state;
    assert_int_equal(create(1001, "0", 256 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(create(1002, "0", 256 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 2);
    assert_int_equal(fake.there[1].namespace.owner.uid, 1002);
    assert_int_equal(fake.looks, 0);
    assert_int_equal(create(1003, "0", 16 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "16.0 MiB cannot be kept in region0 on socket 0: all users together may keep "
                                    "512.0 MiB of it (fsdax_keep_share), and keep 512.0 MiB");
    assert_int_equal(fake.n_there, 2);
    assert_int_equal(destroy(1001), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 1);
    assert_int_equal(fake.there[0].namespace.owner.uid, 1002);
    assert_int_equal(create(1003, "0", 16 * MIB), HM_NAMESPACE_DONE);
}

static void test_what_does_not_serve_is_refused_and_stays(void **state)
{
    (void)state;
    static const struct {
        const char *sockets;
        uint64_t bytes;
        const char *wants;
    } rows[] = {
        {"0-1", 257 * MIB, "257.0 MiB on sockets 0-1"},
        {"0", 16 * MIB, "16.0 MiB on socket 0"},
        {"1", 128 * MIB, "128.0 MiB on socket 1"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char wanted[HM_ERROR_TEXT];
        fake.n_there = 0;
        fake_keep(1001, MINUTE, 1, 144 * MIB); /* the smallest part counts; parts are listed in any order */
        fake_keep(1001, MINUTE, 0, 128 * MIB);
        assert_int_equal(create(1001, rows[i].sockets, rows[i].bytes), HM_NAMESPACE_REFUSED);
        snprintf(wanted, sizeof(wanted),
                 "user 1001 keeps 256.0 MiB on sockets 0-1 of this node, from 2025-11-29T00:00:00Z to "
                 "2025-11-29T02:00:00Z, and this job wants %s: ask for size=256M at most and the same sockets, or have "
                 "an administrator remove it (hybridmem namespace destroy --uid 1001)",
                 rows[i].wants);
        assert_string_equal(error.text, wanted);
        assert_int_equal(fake.n_there, 2);
        assert_int_equal(fake.there[0].mark + fake.there[1].mark, 2 * MARK_THERE);
    }
}

static void test_two_on_a_socket_are_not_given(void **state)
{
    (void)state;
    fake_keep(1001, MINUTE, 0, 64 * MIB);
    fake_keep(1001, MINUTE - 7, 0, 64 * MIB);
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(fake.n_there, 2);
}

static void test_what_was_never_finished_is_made_anew(void **state)
{
    (void)state;
    /* Whichever part lacks the mark, the set is not finished: marks are written when all parts exist. */
    for (int i = 0; i < 2; i++) {
        fake.n_there = 0;
        fake_keep(1001, MINUTE - 5, 0, 64 * MIB)->mark = i == 0 ? MARK_NONE : MARK_THERE;
        fake_keep(1001, MINUTE - 5, 1, 64 * MIB)->mark = i == 1 ? MARK_NONE : MARK_UNREADABLE;
        assert_int_equal(create(1001, "0-1", 64 * MIB), HM_NAMESPACE_DONE);
        assert_int_equal(fake.n_there, 2);
        assert_int_equal(fake.there[0].namespace.owner.minute, MINUTE);
        assert_int_equal(fake.there[1].mark, MARK_THERE);
    }
}

static void test_what_is_damaged_is_left_alone(void **state)
{
    (void)state;
    struct there *one = fake_keep(1001, MINUTE, 0, 64 * MIB);
    one->cannot_mount_by = EUCLEAN;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(
        error.text,
        "what user 1001 keeps on this node cannot be used: cannot mount /dev/nokept1001.29406240.0" LEFT_ALONE);
    one->mark = MARK_UNREADABLE;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(
        error.text,
        "what user 1001 keeps on this node cannot be used: cannot read /dev/nokept1001.29406240.0" LEFT_ALONE);
    one->namespace.device[0] = '\0';
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text,
                        "what user 1001 keeps on this node cannot be used: user1001.0 has no device" LEFT_ALONE);
    assert_int_equal(fake.revived, 1);
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 1);
    now += 2 * 3600;
    assert_int_equal(reap_twice(""), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 0);
}

static void test_what_is_still_in_use_is_refused_for_now(void **state)
{
    static const int for_now[] = {EBUSY, EAGAIN};
    (void)state;
    struct there *one = fake_keep(1001, MINUTE, 0, 64 * MIB);
    for (size_t i = 0; i < N_ROWS(for_now); i++) {
        one->cannot_mount_by = for_now[i];
        assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
        assert_string_equal(error.text, "what user 1001 keeps on this node cannot be used yet: cannot mount "
                                        "/dev/nokept1001.29406240.0: submit again later");
    }
    one->cannot_mount_by = 0;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.there[0].namespace.owner.minute, MINUTE);
}

static void test_a_device_that_comes_back_is_used(void **state)
{
    (void)state;
    struct there *one = fake_keep(1001, MINUTE, 0, 64 * MIB);
    one->namespace.device[0] = '\0';
    one->can_revive = true;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.revived, 1);
    assert_int_equal(fake.there[0].namespace.owner.minute, MINUTE);
}

static void test_the_age(void **state)
{
    (void)state;
    static const struct {
        const char *living;
        int64_t later_s; /* when the reap runs, after MIDNIGHT */
        bool is_known;   /* hybridmem.conf was read, so that the age is known */
        bool is_left;    /* the user's namespace is still there after the reap */
    } rows[] = {
        {"", 7199, true, true},      {"", 7200, true, false},      {"12.0", 7200, true, false},
        {"u1001", 7200, true, true}, {"u1002", 7200, true, false}, {"", 1000000, false, true},
        {"", -1000000, true, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        fake.n_there = 0;
        fake_keep(1001, MINUTE, 0, GIB);
        fake_add(12, 1, 0, false);
        now = MIDNIGHT + rows[i].later_s;
        config.path[0] = rows[i].is_known ? '/' : '\0';
        assert_int_equal(reap_twice(rows[i].living), HM_NAMESPACE_DONE);
        bool is_left = fake.n_there > 0 && fake.there[0].namespace.owner.kind == HM_OWNER_USER;
        if (is_left != rows[i].is_left)
            fail_msg("row %zu", i);
        assert_int_equal(fake.n_there, (int)is_left + (strcmp(rows[i].living, "12.0") == 0));
    }
}

/* Ten minutes after a reap has found a set overdue, `create` makes it anew, also where no second reap has come. */
static void test_what_is_overdue_is_made_anew(void **state)
{
    (void)state;
    fake_keep(1001, MINUTE, 0, 64 * MIB);
    now = MIDNIGHT + 7200;
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.there[0].namespace.owner.minute, MINUTE);
    fake.now_ms += HM_OVERDUE_S * 1000;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 1);
    assert_int_equal(fake.there[0].namespace.owner.minute, MINUTE + 120);
}

/* A clock that is ahead, or an age that is too short, wipes nothing if it was so at one reap only, or for less than ten
 * minutes. */
static void test_a_moments_error_wipes_nothing(void **state)
{
    static const struct {
        int64_t ahead_s[3]; /* the clock's error at three reaps */
        uint64_t apart_s;   /* the time between them */
        const char *notes;  /* before; NULL: none */
        bool is_left;
    } rows[] = {
        {{86400, 86400, 86400}, 299, NULL, true},    {{86400, 86400, 86400}, 300, NULL, false},
        {{86400, 0, 86400}, 600, NULL, true},        {{0, 86400, 0}, 600, NULL, true},
        {{86400, 0, 0}, 1, "0 user1001.0\n", false}, {{86400, 0, 0}, 1, "0 user1001.00\n", true},
        {{86400, 0, 0}, 1, "-1 user1001.0\n", true}, {{86400, 0, 0}, 1, "99999999999 user1001.0\n", true},
        {{86400, 0, 0}, 1, "0 user1001.0 ", true},   {{86400, 0, 0}, 1, "\n\n0\n \n0 user1001.0", false},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        fake.n_there = 0;
        fake_keep(1001, MINUTE, 0, GIB);
        assert_int_equal(reap(""), HM_NAMESPACE_DONE);
        if (rows[i].notes)
            scratch_write(scratch_path("run/root/node/overdue"), rows[i].notes);
        for (int j = 0; j < 3; j++) {
            now = MIDNIGHT + rows[i].ahead_s[j];
            assert_int_equal(reap(""), HM_NAMESPACE_DONE);
            fake.now_ms += rows[i].apart_s * 1000;
        }
        if ((fake.n_there == 1) != rows[i].is_left)
            fail_msg("row %zu", i);
        now = MIDNIGHT;
        assert_int_equal(reap(""), HM_NAMESPACE_DONE); /* forgets the notes */
    }
}

static void test_an_unfinished_set_is_reaped_as_a_whole(void **state)
{
    (void)state;
    fake_keep(1001, MINUTE, 0, 64 * MIB);
    fake_keep(1001, MINUTE, 1, 64 * MIB)->mark = MARK_NONE;
    fake_keep(1002, MINUTE, 1, 64 * MIB);
    assert_int_equal(reap("u1001"), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 3);
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 1);
    assert_int_equal(fake.there[0].namespace.owner.uid, 1002);
    /* A label without a size is no namespace, and is removed. So is an unfinished set of another minute; the user's
     * finished set stays. */
    fake_keep(1002, MINUTE, 0, 0);
    fake_keep(1002, MINUTE - 1, 0, 16 * MIB)->mark = MARK_NONE;
    fake_keep(1003, MINUTE, 0, 0);
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(fake.n_there, 1);
    assert_int_equal(fake.there[0].namespace.owner.minute, MINUTE);
    assert_int_equal(fake.there[0].namespace.bytes, 64 * MIB);
}

static void test_all_is_finished_or_nothing_is_made(void **state)
{
    (void)state;
    fake.fails_on = 1;
    assert_int_equal(create(1001, "0-1", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "mkfs failed on /dev/nokept1001.29406240.1");
    assert_int_equal(fake.n_there, 0);
    fake.fails_on = -1;
    fake.no_mark_on = 1;
    assert_int_equal(create(1001, "0-1", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "no mark on /dev/nokept1001.29406240.1");
    assert_int_equal(fake.n_there, 0);
}

static void test_what_is_in_use_keeps_its_mark(void **state)
{
    (void)state;
    struct there *one = fake_keep(1001, MINUTE, 0, 64 * MIB);
    one->busy = ALWAYS;
    assert_int_equal(destroy(1001), HM_NAMESPACE_BUSY);
    assert_int_equal(fake.pauses, 10);
    assert_int_equal(fake.there[0].mark, MARK_THERE);
    /* The mark is cleared before the wipe fails. */
    one->busy = 0;
    one->fails = true;
    assert_int_equal(destroy(1001), HM_NAMESPACE_LEFT);
    assert_int_equal(fake.there[0].mark, MARK_NONE);
    /* A job waits only briefly for what is left of its user's set. */
    one->busy = ALWAYS;
    fake.pauses = 0;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_non_null(strstr(error.text, "user1001.0 is still in use after 10 s"));
    assert_int_equal(fake.pauses, 100);
}

static void test_nothing_is_kept_without_a_share(void **state)
{
    (void)state;
    fake_keep(1001, MINUTE, 0, 64 * MIB);
    config.keep_percent = 0;
    assert_int_equal(create(1001, "0", 64 * MIB), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "nothing is kept on this node: hybridmem.conf sets no fsdax_keep_share");
    assert_int_equal(fake.n_there, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, fake_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_set_is_made_once_and_given_again),
        TEST(test_each_user_has_their_own),
        TEST(test_what_does_not_serve_is_refused_and_stays),
        TEST(test_two_on_a_socket_are_not_given),
        TEST(test_what_was_never_finished_is_made_anew),
        TEST(test_what_is_damaged_is_left_alone),
        TEST(test_what_is_still_in_use_is_refused_for_now),
        TEST(test_a_device_that_comes_back_is_used),
        TEST(test_the_age),
        TEST(test_what_is_overdue_is_made_anew),
        TEST(test_a_moments_error_wipes_nothing),
        TEST(test_an_unfinished_set_is_reaped_as_a_whole),
        TEST(test_all_is_finished_or_nothing_is_made),
        TEST(test_what_is_in_use_keeps_its_mark),
        TEST(test_nothing_is_kept_without_a_share),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
