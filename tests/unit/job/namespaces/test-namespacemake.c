/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests how a job's prolog makes its namespaces: with which arguments hybridmem-namespace (here a script) is run, and
 * how its answers are used.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/namespaces/namespaces.h"
#include "job/namespaces/wipelater.h"
#include "namespacescript.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void namespaces_are_made_and_removed(void **state)
{
    char value[HM_DAX_VALUE], path[HM_DAX_PATH], wanted[1024];
    (void)state;
    snprintf(config.path, sizeof(config.path), "/x/y.conf");
    config.fsdax_map = HM_DAX_MAP_PMEM;
    script(MADE);
    n_created = 0;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_int_equal(n_created, 1);
    assert_told(
        "create --config /x/y.conf --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets 0-1 "
        "--fs ext4 --map pmem --patience 3600 ");
    assert_int_equal(job.namespaces.n, 2);
    assert_true(job.namespaces.is_begun && job.namespaces.create_s >= 0 && job.namespaces.destroy_s < 0);
    assert_string_equal(job.namespaces.each[0].name, "hybridmem:a-cluster-with-a-long-name-:7.2.0");
    assert_string_equal(job.namespaces.each[0].device, "/dev/pmem0.1");
    assert_string_equal(job.namespaces.each[1].fs, "ext4");
    assert_int_equal(job.namespaces.each[1].socket, 1);
    assert_int_equal(job.namespaces.each[1].bytes, 536870912);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_true(is_folder(hm_dax_path(&config, 7, 0, path)) && is_folder(hm_dax_path(&config, 7, 1, path)));
    assert_string_equal(hm_dax_variable(&config, 7, &job.namespaces, 0, value), "HYBRIDMEM_FSDAX_DIR");
    snprintf(wanted, sizeof(wanted), "%s/run/fsdax/7/0", scratch);
    assert_string_equal(value, wanted);
    assert_string_equal(hm_dax_variable(&config, 7, &job.namespaces, 1, value), "HYBRIDMEM_FSDAX_DIRS");
    snprintf(wanted, sizeof(wanted), "0=%s/run/fsdax/7/0:1=%s/run/fsdax/7/1", scratch, scratch);
    assert_string_equal(value, wanted);
    assert_null(hm_dax_variable(&config, 7, &job.namespaces, 2, value));
    script("");
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_told("destroy --config /x/y.conf --job 7 --restart 2 --cluster test --patience 600 --detach 10 ");
    assert_false(job.namespaces.is_begun || is_folder(hm_dax_job_folder(&config, 7, path)));
    assert_true(job.namespaces.destroy_s >= 0);
    /* The second call does nothing. */
    forget_told();
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_nothing_told();
}

static const struct {
    const char *script;
    bool may_be_left;
    const char *said;
} failures[] = {
    {"echo 'hybridmem namespace: h.conf:1: no such key' >&2\n"
     "echo 'hybridmem namespace: region0: the largest free extent has 1 GiB' >&2; exit 1",
     false, "region0: the largest free extent has 1 GiB"},
    {"echo 'no mkfs; 7.2.0 is left: no wipe' >&2; exit 5", true, "no mkfs; 7.2.0 is left: no wipe"},
    {"exit 2", false, "hybridmem-namespace ended with exit status 2"},
    {"echo busy >&2; exit 3", false, "busy"}, /* hybridmem-namespace has waited for the lock in vain */
    {"echo 'hybridmem namespace: a warning' >&2; kill -9 $$", true, "a warning"},
    {"kill -9 $$", true, "hybridmem-namespace was ended by signal 9"},
    {"", true, "hybridmem-namespace does not say what it made"},
    {"echo '{}'", true, "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[]}'", true, "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[{\"name\":\"n\",\"socket\":0,\"device\":\"/dev/pmem0\",\"bytes\":1}]}'", true,
     "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[{\"name\":\"n\",\"socket\":0,\"device\":\"/dev/sda\",\"bytes\":1,\"fs\":\"xfs\"}]}'", true,
     "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[{\"name\":\"n\",\"socket\":99,\"device\":\"/dev/pmem0\",\"bytes\":1,\"fs\":\"xfs\"}]}'",
     true, "hybridmem-namespace does not say what it made"},
};

static void a_failure_says_why_and_whether_something_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(failures); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        script(failures[i].script);
        assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
        assert_string_equal(error.text, failures[i].said);
        assert_int_equal(job.namespaces.is_begun, failures[i].may_be_left);
        assert_int_equal(job.namespaces.n, 0);
        job.namespaces.is_begun = true;
        if (strstr(failures[i].script, "exit") || strstr(failures[i].script, "kill")) {
            assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), -1);
            int number = errno;
            assert_int_equal(number == EBUSY, strstr(failures[i].script, "exit 3") != NULL);
            assert_int_equal(number == ENOTRECOVERABLE, strstr(failures[i].script, "exit 5") != NULL);
            assert_int_equal(number == EAGAIN, strstr(failures[i].script, "kill") != NULL);
            assert_true(job.namespaces.is_begun);
        }
    }
    is_missing = true;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "this node has no hybridmem-namespace: hybridmem was built without ndctl");
    assert_false(job.namespaces.is_begun);
}

#define KEPT(until)                                                                                                    \
    "echo '{\"namespaces\":[{\"name\":\"hybridmem:test:u1001.29912345.1\",\"socket\":1,\"device\":\"/dev/pmem1\","     \
    "\"bytes\":536870912,\"fs\":\"xfs\",\"kept_until\":" until "}]}'"

static void want_kept(void)
{
    job.plan.request.keep = job.plan.fsdax.is_kept = true;
    config.path[0] = '\0';
    job.namespaces.is_begun = true;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static bool is_kept_in_ledger(uint32_t job_id)
{
    struct hm_job entry;
    assert_int_equal(hm_ledger_read(&config, job_id, &entry, &error), 0);
    return entry.namespaces.is_kept;
}

static void kept_namespaces_outlive_their_job(void **state)
{
    char value[HM_DAX_VALUE], path[HM_DAX_PATH];
    (void)state;
    want_kept();
    /* hm_namespaces_make notes in the ledger that namespaces are kept, before it makes them. */
    script(KEPT("\"2026-11-29T20:11:00Z\""));
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_told("create --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets 0-1 --fs ext4 --map "
                "dram --patience 3600 --keep ");
    assert_true(is_kept_in_ledger(7) && job.namespaces.is_kept && job.namespaces.is_begun);
    assert_int_equal(job.namespaces.kept_until_s, 1795983060);
    /* the file system that the user has kept, whatever the site's setting is now */
    assert_string_equal(job.namespaces.each[0].fs, "xfs");
    assert_string_equal(hm_dax_variable(&config, 7, &job.namespaces, 2, value), "HYBRIDMEM_FSDAX_UNTIL");
    assert_string_equal(value, "2026-11-29T20:11:00Z");
    assert_null(hm_dax_variable(&config, 7, &job.namespaces, 3, value));
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    /* A reap leaves what is kept, as the user is in the list of the living. */
    script("");
    assert_int_equal(hm_namespaces_reap(&config, &(struct hm_namespaces_reap){.cluster = NULL}, &error), 0);
    assert_told("reap --patience 0 --living 7.2,u1001 ");
    /* The job's end does not remove it. */
    assert_true(is_folder(hm_dax_path(&config, 7, 1, path)));
    forget_told();
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_nothing_told();
    assert_false(job.namespaces.is_begun || is_folder(hm_dax_job_folder(&config, 7, path)));
    assert_true(job.namespaces.destroy_s < 0);
}

/* Writes the ledger's entry of another job, 12, of the user `uid`. */
static void enter_other(uint32_t uid, const char *cluster, bool is_kept, bool is_dead)
{
    struct hm_job other;
    hm_job_init(&other, 12);
    other.uid = uid;
    other.namespaces.is_kept = is_kept;
    snprintf(other.cluster, sizeof(other.cluster), "%s", cluster);
    if (is_dead)
        snprintf(other.boot_id, sizeof(other.boot_id), "another");
    assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
}

static void kept_namespaces_have_one_job_at_a_time(void **state)
{
    static const struct {
        uint32_t uid;
        const char *cluster;
        bool is_kept, is_dead, is_refused;
    } rows[] = {
        {1001, "test", true, false, true},   {1001, "test", false, false, false}, {1002, "test", true, false, false},
        {1001, "other", true, false, false}, {1001, "test", true, true, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        enter_other(rows[i].uid, rows[i].cluster, rows[i].is_kept, rows[i].is_dead);
        want_kept();
        script(KEPT("\"2026-11-29T20:11:00Z\""));
        assert_int_equal(hm_namespaces_make(&config, &job, &error), rows[i].is_refused ? -1 : 0);
        assert_int_equal(is_kept_in_ledger(7), !rows[i].is_refused);
        assert_int_equal(job.namespaces.is_kept, !rows[i].is_refused);
        assert_int_equal(job.namespaces.is_begun, !rows[i].is_refused);
        if (rows[i].is_refused)
            assert_string_equal(error.text, "your job 12 has what you keep on this node: "
                                            "wait for its end, or submit without the key keep");
        assert_int_equal(hm_ledger_remove(&config, 12, &error), 0);
    }
}

static void a_job_whose_entry_cannot_be_read_may_have_what_is_kept(void **state)
{
    (void)state;
    scratch_write(scratch_path("run/jobs/12"), "torn");
    want_kept();
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "job 12, whose state cannot be read, may have what you "
                                    "keep on this node: wait for its end, or submit without the key keep");
    assert_false(is_kept_in_ledger(7) || job.namespaces.is_begun);
    assert_int_equal(hm_ledger_remove(&config, 12, &error), 0);
}

static void a_job_that_keeps_nothing_need_not_wait(void **state)
{
    (void)state;
    enter_other(1001, "test", true, false);
    script(MADE);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_false(job.namespaces.is_kept);
    assert_int_equal(hm_ledger_remove(&config, 12, &error), 0);
}

static void a_keep_that_fails_may_still_keep_something(void **state)
{
    static const char *const scripts[] = {KEPT("null"), KEPT("\"soon\""), KEPT("\"2026-02-31T20:11:00Z\""),
                                          "echo 'hybridmem namespace: no' >&2; exit 1"};
    (void)state;
    for (size_t i = 0; i < N_ROWS(scripts); i++) {
        bool is_refusal = strstr(scripts[i], "exit 1") != NULL;
        assert_int_equal(namespaces_set_up(state), 0);
        want_kept();
        script(scripts[i]);
        assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
        assert_int_equal(job.namespaces.is_begun, !is_refusal);
        assert_int_equal(job.namespaces.is_kept, !is_refusal);
        assert_int_equal(job.namespaces.n, 0);
    }
    /* The job ends while its prolog still runs, and a new run has made the entry. */
    assert_int_equal(namespaces_set_up(state), 0);
    want_kept();
    job.start_ns++;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "job 7 has ended before its prolog was done");
    /* The job has ended, and its entry stays, as its record could not be written. */
    assert_int_equal(namespaces_set_up(state), 0);
    want_kept();
    job.end_ns = 1;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    job.end_ns = 0;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "job 7 has ended before its prolog was done");
}

#define WIPED "; the memory of earlier jobs is still being wiped"
#define NO_ROOM "echo 'hybridmem namespace: region0: no room' >&2; exit 1"

/* A job that begins while memory may still have to be wiped gets namespaces, or a reason why not. The reason names the
 * wipe only if the wipe may make room. */
static const struct {
    unsigned left_s;
    bool are_there;
    const char *script, *said; /* said NULL: namespaces are made */
} rooms[] = {
    {0, true, MADE, NULL},
    {45, true, "[ $1 = reap ] && exit 4; " MADE, NULL},
    {45, true, "[ $1 = reap ] && exit 3; " MADE, NULL},
    {0, true, NO_ROOM, "region0: no room" WIPED},
    {0, true, "exit 3", "hybridmem-namespace ended with exit status 3" WIPED},
    {0, false, NO_ROOM, "region0: no room"},                             /* there is nothing to wipe */
    {45, true, "[ $1 = reap ] && exit 0; " NO_ROOM, "region0: no room"}, /* nothing to wipe either */
    /* something is in use, but there is time left */
    {45, true, "[ $1 = reap ] && exit 3; " NO_ROOM, "region0: no room"},
    {HM_WIPE_NO_LIMIT, true, "[ $1 = reap ] && exit 1; " NO_ROOM, "region0: no room"},
};

/*
 * The same where create uses up the time that was left. The reap before it ends in different ways: the reason names the
 * wipe only if memory is still being wiped or in use, as only that memory may become free later.
 */
static const struct {
    const char *script, *said;
} reaps[] = {
    {"[ $1 = reap ] && echo no >&2 && exit 4; " NO_ROOM, "region0: no room" WIPED},
    {"[ $1 = reap ] && echo no >&2 && exit 3; " NO_ROOM, "region0: no room" WIPED},
    {"[ $1 = reap ] && exit 0; " NO_ROOM, "region0: no room"},
    {"[ $1 = reap ] && echo no >&2 && exit 1; " NO_ROOM, "region0: no room"},
    {"[ $1 = reap ] && echo no >&2 && exit 5; " NO_ROOM, "region0: no room"},
};

static void no_room_has_its_reason(void **state)
{
    for (size_t i = 0; i < N_ROWS(reaps); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        left_s = 45;
        takes_all = true;
        script(reaps[i].script);
        assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
        assert_string_equal(error.text, reaps[i].said);
    }
}

static void room_beside_what_is_not_wiped_yet(void **state)
{
    for (size_t i = 0; i < N_ROWS(rooms); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        left_s = rooms[i].left_s;
        are_there = rooms[i].are_there;
        script(rooms[i].script);
        assert_int_equal(hm_namespaces_make(&config, &job, &error), rooms[i].said ? -1 : 0);
        assert_string_equal(error.text, rooms[i].said ? rooms[i].said : "");
        assert_int_equal(job.namespaces.n, rooms[i].said ? 0 : 2);
    }
    /* With no time left, create may still wait for a moment, and has time to undo what it made. */
    assert_int_equal(namespaces_set_up(state), 0);
    left_s = 0;
    script(MADE);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_told("create --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets 0-1 --fs ext4 --map "
                "dram --patience 10 --limit 30 ");
    /* hm_namespaces_make waits for another process's lock only until fsdax_wipe_limit is used up, as it is here. */
    forget_told();
    int held = open(scratch_path("run/root/node/fsdax.namespaces"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "the memory of earlier jobs is still being wiped");
    assert_false(job.namespaces.is_begun || job.namespaces.n > 0);
    assert_nothing_told();
    close(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(namespaces_are_made_and_removed, namespaces_set_up),
        cmocka_unit_test(a_failure_says_why_and_whether_something_is_left),
        cmocka_unit_test_setup(kept_namespaces_outlive_their_job, namespaces_set_up),
        cmocka_unit_test(kept_namespaces_have_one_job_at_a_time),
        cmocka_unit_test_setup(a_job_whose_entry_cannot_be_read_may_have_what_is_kept, namespaces_set_up),
        cmocka_unit_test_setup(a_job_that_keeps_nothing_need_not_wait, namespaces_set_up),
        cmocka_unit_test(a_keep_that_fails_may_still_keep_something),
        cmocka_unit_test(room_beside_what_is_not_wiped_yet),
        cmocka_unit_test(no_room_has_its_reason),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
