/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a job counts as living while its entry in the ledger cannot be read: by its cgroups, and by the entry's
 * age. */
#include <fcntl.h>
#include <fts.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "job/ledger/jobcgroup.h"
#include "job/ledger/unread.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define GRACE_S 600

static struct hm_config config;
static struct hm_job job;
static const char *users; /* a folder of this name belongs to another user */
static bool goes;         /* a job's folder goes as soon as it was found */

FTSENT *__real_fts_read(FTS *walk);
FTSENT *__wrap_fts_read(FTS *walk);

FTSENT *__wrap_fts_read(FTS *walk)
{
    FTSENT *found = __real_fts_read(walk);
    if (found && users && strcmp(found->fts_name, users) == 0)
        found->fts_statp->st_uid++;
    if (found && goes && found->fts_info == FTS_D && strncmp(found->fts_name, "job_", 4) == 0)
        assert_int_equal(scratch_remove(found->fts_path), 0);
    return found;
}

/* Sets the time of job 7's entry to `age_s` seconds ago by this clock. */
static void set_time(clockid_t clock, int age_s)
{
    struct timespec then;
    assert_int_equal(clock_gettime(clock, &then), 0);
    then.tv_sec -= age_s;
    assert_int_equal(utimensat(AT_FDCWD, scratch_path("run/jobs/7"), (const struct timespec[2]){then, then}, 0), 0);
}

/* Writes an entry of job 7 that cannot be read, and that a reap has looked at `age_s` seconds ago. */
static void leave_entry(int age_s)
{
    ledger_with_job(&config, &job);
    scratch_write(scratch_path("run/jobs/7"), "of another version");
    set_time(CLOCK_BOOTTIME, age_s);
}

/* Makes a folder and all its parents, in place of what an earlier call made. */
static void make_cgroup(const char *path)
{
    char *whole = scratch_path("cgroup/%s", path);
    assert_int_equal(scratch_remove(scratch_path("cgroup")), 0);
    for (char *at = strchr(whole + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    assert_int_equal(mkdir(whole, 0755), 0);
}

static void cgroups_tell_whether_the_job_lives(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        bool is_living, is_named;
    } rows[] = {
        {"system.slice/slurmstepd.scope/job_7/step_extern/user/task_special", true, true},
        {"system.slice/n1_slurmstepd.scope/job_7", true, true},
        {"a.slice/b.slice/c/slurmstepd.scope/job_7/step_0", true, true},
        {"system.slice/slurmstepd.scope/job_77/step_0/slurm", false, false},
        {"system.slice/slurmstepd.scope/job_8/step_7", false, false},
        {"system.slice/slurmstepd.scope/system", false, false},
        {"user.slice/user-7.slice", false, false},
        /* cgroups with other names: any of them may be the job's */
        {"system.slice/slurmstepd.scope/s4GJ0/step_extern", true, false},
        {"system.slice/slurmstepd.scope/job_s4GJ0/step_0/user", true, false},
        {"system.slice/slurmstepd.scope/job_7x/step_0", true, false},
    };
    leave_entry(GRACE_S + 60);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        make_cgroup(rows[i].folder);
        if (hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S) != rows[i].is_living ||
            hm_jobcgroup_has(scratch_path("cgroup"), 7, false) != rows[i].is_named)
            fail_msg("%s", rows[i].folder);
    }
}

static void an_empty_folder_is_nobodys(void **state)
{
    (void)state;
    static const struct {
        const char *events;
        bool is_living;
    } rows[] = {{"populated 0\nfrozen 0\n", false}, {"populated 1\nfrozen 0\n", true}, {"", true}};
    leave_entry(GRACE_S + 60);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        make_cgroup("system.slice/slurmstepd.scope/job_7");
        scratch_write(scratch_path("cgroup/system.slice/slurmstepd.scope/job_7/cgroup.events"), rows[i].events);
        assert_int_equal(hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S), rows[i].is_living);
    }
}

static void a_folder_that_goes_meanwhile_is_nobodys(void **state)
{
    (void)state;
    leave_entry(GRACE_S + 60);
    make_cgroup("system.slice/slurmstepd.scope/job_7/step_0");
    goes = true;
    assert_false(hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S));
    goes = false;
}

/* A walk that fails does not tell that the job is dead, nor that there is a stranger. */
static void a_failure_to_look_is_no_answer(void **state)
{
    (void)state;
    struct hm_job_folders unnamed = {0};
    leave_entry(GRACE_S + 60);
    assert_int_equal(scratch_remove(scratch_path("cgroup")), 0);
    assert_true(hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S));
    assert_false(hm_jobcgroup_has_stranger(scratch_path("cgroup"), scratch_path("run/jobs"), 8, &unnamed));
}

/* A cgroup of version 1 has no cgroup.events, and each folder lists only its own processes. */
static void folders_of_version_1_tell_by_their_processes(void **state)
{
    (void)state;
    static const struct {
        const char *of_job, *of_step; /* cgroup.procs of the folders */
        bool is_living;
    } rows[] = {{"", "", false}, {"17\n", "", true}, {"", "17\n", true}};
    leave_entry(GRACE_S + 60);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        make_cgroup("freezer/slurm/uid_1001/job_7/step_0");
        scratch_write(scratch_path("cgroup/freezer/slurm/uid_1001/job_7/cgroup.procs"), rows[i].of_job);
        scratch_write(scratch_path("cgroup/freezer/slurm/uid_1001/job_7/step_0/cgroup.procs"), rows[i].of_step);
        assert_int_equal(hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S), rows[i].is_living);
    }
}

/* A user may have folders of their own, and name them as they like. In old versions of Slurm a step's folder is the
 * user's. */
static void folders_of_users_do_not_tell(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *users;
        bool is_living;
    } rows[] = {
        {"user.slice/user@7.service/job_7/step_0", NULL, true},
        {"user.slice/user@7.service/job_7/step_0", "user@7.service", false},
        {"user.slice/user@7.service/job_7/step_0", "job_7", false},
        {"user.slice/user@7.service/app.slice/step_0", "user@7.service", false},
        {"system.slice/slurmstepd.scope/job_8/step_0/user/job_7", NULL, false},
        {"freezer/slurm/uid_1001/job_7/step_0", "step_0", true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        leave_entry(GRACE_S + 60);
        make_cgroup(rows[i].folder);
        if (strncmp(rows[i].folder, "freezer", 7) == 0)
            scratch_write(scratch_path("cgroup/freezer/slurm/uid_1001/job_7/cgroup.procs"), "");
        users = rows[i].users;
        if (hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S) != rows[i].is_living)
            fail_msg("%s, of which %s is a user's", rows[i].folder, users ? users : "none");
        users = NULL;
    }
}

/* Job 7 has an entry. Job 9 began while hybridmem was switched off. Job 8 asks, and gets its entry later. */
static void a_job_without_an_entry_is_a_stranger(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *events, *users;
        bool is_stranger;
    } rows[] = {
        {"system.slice/slurmstepd.scope/job_7", "populated 1\n", NULL, false},
        {"system.slice/slurmstepd.scope/job_8", "populated 1\n", NULL, false},
        {"system.slice/slurmstepd.scope/job_9", "populated 1\n", NULL, true},
        {"system.slice/slurmstepd.scope/job_9", "populated 0\n", NULL, false}, /* slurmstepd has left it */
        {"system.slice/slurmstepd.scope/job_7/step_0/user/job_9", "populated 1\n", NULL, false},
        {"user.slice/user@9.service/job_9", "populated 1\n", "user@9.service", false},
        {"user.slice/user@9.service/job_9", "populated 1\n", "job_9", false},
        {"system.slice/slurmstepd.scope/system", "populated 1\n", NULL, false},
    };
    char entries[256];
    struct hm_job_folders unnamed = {0};
    leave_entry(0);
    snprintf(entries, sizeof(entries), "%s", scratch_path("run/jobs"));
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        make_cgroup(rows[i].folder);
        scratch_write(scratch_path("cgroup/%s/cgroup.events", rows[i].folder), rows[i].events);
        users = rows[i].users;
        if (hm_jobcgroup_has_stranger(scratch_path("cgroup"), entries, 8, &unnamed) != rows[i].is_stranger)
            fail_msg("row %zu", i);
        goes = true;
        if (hm_jobcgroup_has_stranger(scratch_path("cgroup"), entries, 8, &unnamed))
            fail_msg("row %zu, as its folder goes", i);
        goes = false;
        users = NULL;
    }
    assert_int_equal(unnamed.n, 0);
}

static void the_age_of_the_entry_tells_whether_the_job_lives(void **state)
{
    (void)state;
    make_cgroup("system.slice");
    static const struct {
        int age_s;
        unsigned grace_s;
        bool is_living;
    } rows[] = {
        {GRACE_S + 60, GRACE_S, false},
        {GRACE_S - 60, GRACE_S, true},
        {0, GRACE_S, true},
        {0, 0, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        leave_entry(rows[i].age_s);
        assert_int_equal(hm_unread_is_living(&config, scratch_path("cgroup"), 7, rows[i].grace_s), rows[i].is_living);
    }
}

/* CLOCK_REALTIME, by which the entry was written, may be set back or forward: the grace keeps its length. */
static void no_clock_that_is_set_changes_the_grace(void **state)
{
    (void)state;
    static const int written_before_s[] = {-86400, 0, GRACE_S - 60, 86400};
    make_cgroup("system.slice");
    for (size_t i = 0; i < N_ROWS(written_before_s); i++) {
        struct stat status;
        struct timespec now;
        leave_entry(0);
        set_time(CLOCK_REALTIME, written_before_s[i]);
        assert_true(hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S));
        assert_int_equal(stat(scratch_path("run/jobs/7"), &status), 0);
        assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
        assert_in_range(now.tv_sec - status.st_mtime, 0, 60);
        set_time(CLOCK_BOOTTIME, GRACE_S);
        assert_false(hm_unread_is_living(&config, scratch_path("cgroup"), 7, GRACE_S));
    }
}

static void a_job_of_which_nothing_is_known_lives(void **state)
{
    (void)state;
    leave_entry(GRACE_S + 60);
    assert_true(hm_unread_is_living(&config, scratch_path("no cgroups"), 7, GRACE_S));
    make_cgroup("system.slice");
    assert_true(hm_unread_is_living(&config, scratch_path("cgroup"), 8, GRACE_S)); /* job 8 has no entry */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cgroups_tell_whether_the_job_lives),
        cmocka_unit_test(an_empty_folder_is_nobodys),
        cmocka_unit_test(a_folder_that_goes_meanwhile_is_nobodys),
        cmocka_unit_test(a_failure_to_look_is_no_answer),
        cmocka_unit_test(folders_of_version_1_tell_by_their_processes),
        cmocka_unit_test(folders_of_users_do_not_tell),
        cmocka_unit_test(a_job_without_an_entry_is_a_stranger),
        cmocka_unit_test(the_age_of_the_entry_tells_whether_the_job_lives),
        cmocka_unit_test(no_clock_that_is_set_changes_the_grace),
        cmocka_unit_test(a_job_of_which_nothing_is_known_lives),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
