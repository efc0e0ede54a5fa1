/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the removal of what ended jobs had, with a script in place of hybridmem-namespace; and slow memory that the
 * script brings online.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/namespaces/namespaces.h"
#include "job/namespaces/slowram.h"
#include "job/namespaces/wipelater.h"
#include "job/namespaces/words.h"
#include "namespacescript.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static const struct hm_namespaces_reap of_any = {.cluster = NULL}, of_c = {.cluster = "c"}, patient = {.waits = true};

/* A reap holds the lock, so that nothing is made meanwhile. The program has it as its descriptor 3, and so still holds
 * it if the reap is killed. It also removes the folders of jobs that are gone. */
static void a_reap_removes_what_no_living_job_owns(void **state)
{
    static const char words[] = "reap\n--cluster\nc\n--patience\n0\n--living\n";
    char text[512] = "";
    (void)state;
    snprintf(text, sizeof(text), "flock -n %s/run/root/node/fsdax.namespaces true && exit 1; flock -n 3", scratch);
    script(text);
    assert_int_equal(hm_namespaces_reap(&config, &of_c, &error), 0);
    memset(text, 0, sizeof(text));
    FILE *file = fopen(scratch_path("told"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_memory_equal(text, words, strlen(words));
    const char *living = text + strlen(words);
    assert_true(strcmp(living, "7.2,12.0\n") == 0 || strcmp(living, "12.0,7.2\n") == 0);
    assert_true(has_folder(12));
    assert_false(has_folder(13));
}

/* A namespace in use is left to the next reap. The job's folder stays, as it may still have a mount. */
static void a_reap_that_cannot_remove_something(void **state)
{
    (void)state;
    script("echo 'hybridmem namespace: namespace1.0 is in use' >&2; exit 3");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_true(has_folder(13));
    script("echo 'hybridmem namespace: namespace1.0 is left' >&2; exit 5");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), -1);
    assert_int_equal(errno, ENOTRECOVERABLE);
    assert_string_equal(error.text, "namespace1.0 is left");
    script("echo 'hybridmem namespace: cannot open the lock' >&2; exit 1");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), -1);
    assert_int_equal(errno, EIO);
}

static void others_that_are_at_work_are_not_waited_for(void **state)
{
    (void)state;
    script("exit 1");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), -1);
    forget_told();
    int held = open(scratch_path("run/root/node/fsdax.namespaces"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_nothing_told();
    close(held);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), -1);
}

/* The lock of earlier versions is in a folder that users reach. A process of such a version may still have it. */
static void the_lock_of_a_version_before_is_taken_over(void **state)
{
    (void)state;
    script("");
    unlink(scratch_path("told")); /* an earlier test may have left it */
    int held = open(scratch_path("run/fsdax/lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_nothing_told();
    assert_int_equal(access(scratch_path("run/fsdax/lock"), F_OK), -1);
    close(held);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_int_equal(access(scratch_path("told"), F_OK), 0);
}

/* An entry that cannot be read may be of a living job, and of any user who keeps namespaces. */
static void an_entry_that_cannot_be_read(void **state)
{
    (void)state;
    assert_int_equal(unlink(scratch_path("run/jobs/7")), 0);
    assert_int_equal(truncate(scratch_path("run/jobs/12"), 10), 0);
    script("");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_told("reap --patience 0 --living 12.*,u* ");
    assert_true(has_folder(12));
    assert_int_equal(chmod(scratch_path("run/jobs/12"), 0644), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_told("reap --patience 0 --living 12.*,u* ");
}

/* After run_dir was changed, or with the configuration of another site, the ledger does not have the living. */
static void a_living_job_without_an_entry(void **state)
{
    static const struct {
        const char *labels[4];
        uint32_t with_cgroup;
        const char *told;
    } rows[] = {
        {{"hybridmem:c:9.0.0", "hybridmem:c:9.0.1"}, 9, "7.2,9.*,u*"},
        {{"hybridmem:c:9.0.0", "hybridmem:c:10.1.0"}, 10, "7.2,10.*,u*"},
        {{"hybridmem:c:9.0.0"}, 99, "7.2"},
        {{"hybridmem:c:7.1.0"}, 7, "7.2"}, /* the entry says which run lives */
        {{"hybridmem:c:u9.5.0", "hybridmem:", "hybridmem:c:4294967296.0.0"}, 9, "7.2"},
    };
    char wanted[80];
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        memcpy(labels, rows[i].labels, sizeof(labels));
        with_cgroup = rows[i].with_cgroup;
        script("");
        assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
        snprintf(wanted, sizeof(wanted), "reap --patience 0 --living %s ", rows[i].told);
        assert_told(wanted);
    }
    make_folders(13, 1);
    labels[0] = rows[0].labels[0];
    with_cgroup = 9;
    assert_int_equal(unlink(scratch_path("run/jobs/7")), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_told("reap --patience 0 --living 9.*,u* ");
    assert_true(has_folder(13));
    assert_int_equal(hm_namespaces_reap(&config, &patient, &error), -1);
    assert_int_equal(errno, EBUSY);
    assert_non_null(strstr(error.text, "job 9 has file systems, and may have processes, but no entry in "));
    assert_true(pauses > 0);
}

static void a_node_without_jobs(void **state)
{
    (void)state;
    assert_int_equal(unlink(scratch_path("run/jobs/7")), 0);
    assert_int_equal(unlink(scratch_path("run/jobs/12")), 0);
    script("");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_told("reap --patience 0 --living  ");
    forget_told();
    are_there = false;
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_nothing_told();
    /* The kernel policy that a killed `ram online` has set aside is restored also on a node without namespaces. */
    scratch_write(scratch_path("run/root/node/auto_online_blocks"), "online");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_told("reap --patience 0 --living  ");
}

/* Without the list of living jobs nothing is removed: an empty list would mean that no job lives. */
static void nothing_is_removed_without_a_list(void **state)
{
    (void)state;
    script("");
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    forget_told();
    has_no_memory = true;
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), -1);
    assert_int_equal(errno, ENOMEM);
    assert_string_equal(error.text, "no memory for the list of 1 jobs");
    assert_nothing_told();
    /* a ledger that others may write to is not trusted */
    has_no_memory = false;
    assert_int_equal(chmod(scratch_path("run/jobs"), 0777), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), -1);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(error.text, "the folder jobs must belong to"));
    assert_nothing_told();
    assert_int_equal(chmod(scratch_path("run/jobs"), 0700), 0);
}

static const struct {
    unsigned left_s;
    struct hm_namespacetimes times;        /* patience, waits_beyond, wipes_beyond, detach */
    const char *patience, *limit, *detach; /* NULL: not given */
} times[] = {
    {HM_WIPE_NO_LIMIT, {600, 10, 30, 0}, "600", NULL, NULL},
    {HM_WIPE_NO_LIMIT, {0, 0, 0, 0}, "0", NULL, NULL},
    {45, {600, 0, 0, 0}, "45", "45", NULL},
    {45, {0, 0, 0, 0}, "0", "45", NULL},
    {45, {600, 10, 30, 0}, "55", "75", NULL},
    {599, {600, 10, 30, 0}, "600", "629", NULL},
    {1, {600, 0, 0, 0}, "1", "1", NULL},
    {0, {600, 0, 0, 0}, "0", "1", NULL}, /* hybridmem-namespace refuses the limit 0 */
    {0, {600, 10, 30, 0}, "10", "30", NULL},
    {86400, {3600, 10, 30, 0}, "3600", "86400", NULL}, /* the largest value that is accepted */
    {HM_WIPE_NO_LIMIT, {600, 0, 0, 10}, "600", NULL, "10"},
    {45, {600, 0, 0, 10}, "45", "45", "10"},
    {20, {600, 0, 0, 10}, "20", "20", "10"},
    {19, {600, 0, 0, 10}, "19", "19", "9"},
    {4, {600, 0, 0, 10}, "4", "4", "2"},
    {1, {600, 0, 0, 10}, "1", "1", "0"},
};

static void the_program_is_told_how_long_it_may_take(void **state)
{
    struct hm_namespacewords words;
    (void)state;
    for (size_t i = 0; i < N_ROWS(times); i++) {
        left_s = times[i].left_s;
        hm_namespacewords_begin(&words, &config, "create");
        int n = words.n;
        hm_namespacewords_add_times(&words, &config, &times[i].times);
        assert_string_equal(words.word[n], "--patience");
        assert_string_equal(words.word[n + 1], times[i].patience);
        n += 2;
        if (times[i].limit) {
            assert_string_equal(words.word[n], "--limit");
            assert_string_equal(words.word[n + 1], times[i].limit);
            n += 2;
        }
        if (times[i].detach) {
            assert_string_equal(words.word[n], "--detach");
            assert_string_equal(words.word[n + 1], times[i].detach);
            n += 2;
        }
        assert_int_equal(words.n, n);
        assert_null(words.word[words.n]);
    }
}

/* A job's own namespaces are removed within the time that is left of the limit. Without time no removal begins. */
static void a_jobs_own_namespaces_have_the_rest_of_the_limit(void **state)
{
    (void)state;
    left_s = 45;
    script("echo 'hybridmem namespace: 1 of 9 MiB' >&2; exit 4");
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), -1);
    assert_int_equal(errno, ETIME);
    assert_string_equal(error.text, "1 of 9 MiB");
    assert_true(job.namespaces.is_begun);
    assert_told("destroy --job 7 --restart 2 --cluster test --patience 45 --limit 45 --detach 10 ");
    forget_told();
    left_s = 0;
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), -1);
    assert_int_equal(errno, ETIME);
    assert_string_equal(error.text, "the memory of earlier jobs is still being wiped");
    assert_true(job.namespaces.is_begun);
    assert_nothing_told();
}

#define HELD "" /* the script does not run, as another process holds the lock */

static const struct {
    const char *script;
    bool has_left;
    unsigned left_s;
    int result;       /* 1: something is left to systemd */
    const char *said; /* beginning of the error; NULL: not checked */
} ends[] = {
    {"exit 0", true, 45, 0, NULL},
    {"echo 'hybridmem namespace: 1 of 9 MiB' >&2; exit 4", false, 45, 1, "1 of 9 MiB"},
    {"exit 0", false, 0, 1, "the memory of earlier jobs is still being wiped"},
    {"echo failed >&2; exit 1", true, 45, -1, "failed"},
    {"echo busy >&2; exit 3", false, 45, 0, NULL},
    {"echo busy >&2; exit 3", true, 45, 1, "busy"},
    {"echo busy >&2; exit 3", true, HM_WIPE_NO_LIMIT, 0, NULL},
    {HELD, false, 45, 0, NULL},
    {HELD, false, 0, 0, NULL},
    {HELD, true, 45, 1, "another process makes or removes file systems: it has "},
    {HELD, true, 0, 1, "another process makes or removes file systems: it has "},
    {HELD, true, HM_WIPE_NO_LIMIT, 0, NULL},
};

static void what_a_reap_leaves_to_systemd(void **state)
{
    for (size_t i = 0; i < N_ROWS(ends); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        script("");
        assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0); /* makes the lock's file */
        bool is_held = ends[i].script[0] == '\0';
        int held = is_held ? open(scratch_path("run/root/node/fsdax.namespaces"), O_RDWR | O_CLOEXEC) : -1;
        assert_int_equal(is_held ? flock(held, LOCK_EX) : 0, 0);
        const struct hm_namespaces_reap how = {.cluster = "c", .has_left = ends[i].has_left};
        left_s = ends[i].left_s;
        script(ends[i].script);
        assert_int_equal(hm_namespaces_reap(&config, &how, &error), ends[i].result);
        if (ends[i].said)
            assert_memory_equal(error.text, ends[i].said, strlen(ends[i].said));
        assert_int_equal(pauses, 0);
        if (is_held)
            close(held);
    }
    left_s = 45;
    script("");
    assert_int_equal(hm_namespaces_reap(&config, &of_c, &error), 0);
    assert_told("reap --cluster c --patience 0 --limit 45 --living 7.2 ");
}

/* Checks that the lock is free in each pause, so that jobs can begin. After the third pause the script succeeds. */
static void expect_no_lock(void)
{
    int fd = open(scratch_path("run/root/node/fsdax.namespaces"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
    if (pauses == 3)
        script("");
}

static void what_is_in_use_is_waited_for(void **state)
{
    (void)state;
    at_pause = expect_no_lock;
    script("echo busy >&2; exit 3");
    assert_int_equal(hm_namespaces_reap(&config, &patient, &error), 0);
    assert_int_equal(pauses, 3);
    script("echo 'namespace0.0 is in use' >&2; exit 3");
    assert_int_equal(hm_namespaces_reap(&config, &patient, &error), -1);
    assert_string_equal(error.text, "namespace0.0 is in use");
    assert_int_equal(pauses, 3 + 600 / PAUSE_S);
    /* Waiting does not help a failure. */
    script("exit 1");
    assert_int_equal(hm_namespaces_reap(&config, &patient, &error), -1);
    assert_int_equal(pauses, 3 + 600 / PAUSE_S);
}

static void slow_memory(void **state)
{
    (void)state;
    snprintf(config.path, sizeof(config.path), "/x/y.conf");
    config.ram = HM_SLOW_RAM_MOVABLE;
    script("");
    assert_int_equal(hm_slowram_online(&config, &error), 0);
    assert_told("ram online --zone movable --patience 600 --config /x/y.conf ");
    config.path[0] = '\0';
    config.ram = HM_SLOW_RAM_NORMAL;
    script("echo 'hybridmem namespace: dax0.0: no' >&2; exit 3");
    assert_int_equal(hm_slowram_online(&config, &error), -1);
    assert_told("ram online --zone normal --patience 600 ");
    assert_string_equal(error.text, "dax0.0: no");
    is_missing = true;
    assert_int_equal(hm_slowram_online(&config, &error), -1);
    assert_non_null(strstr(error.text, "hybridmem was built without ndctl"));
    are_there = false;
    assert_int_equal(hm_slowram_online(&config, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_reap_removes_what_no_living_job_owns, with_two_jobs),
        cmocka_unit_test_setup(a_reap_that_cannot_remove_something, with_two_jobs),
        cmocka_unit_test_setup(others_that_are_at_work_are_not_waited_for, with_two_jobs),
        cmocka_unit_test_setup(the_lock_of_a_version_before_is_taken_over, with_two_jobs),
        cmocka_unit_test_setup(an_entry_that_cannot_be_read, with_two_jobs),
        cmocka_unit_test(a_living_job_without_an_entry),
        cmocka_unit_test_setup(a_node_without_jobs, with_two_jobs),
        cmocka_unit_test_setup(nothing_is_removed_without_a_list, namespaces_set_up),
        cmocka_unit_test_setup(the_program_is_told_how_long_it_may_take, namespaces_set_up),
        cmocka_unit_test_setup(a_jobs_own_namespaces_have_the_rest_of_the_limit, namespaces_set_up),
        cmocka_unit_test(what_a_reap_leaves_to_systemd),
        cmocka_unit_test_setup(what_is_in_use_is_waited_for, namespaces_set_up),
        cmocka_unit_test_setup(slow_memory, namespaces_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
