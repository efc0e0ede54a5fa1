/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what the end of a job leaves: its record and its entry, also where a step ends late, or the process that ends
 * the job is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/flock.h"
#include "base/heldfolder.h"
#include "finishfixture.h"
#include "job/hooks/finish.h"
#include "job/ledger/epilog.h"
#include "job/ledger/living.h"
#include "job/programs/migrator.h"
#include "meter/monitor/samples.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void what_a_late_step_brought_is_in_the_record(void **state)
{
    (void)state;
    const int exit_status = 3 << 8;
    assert_int_equal(hm_finish_job(&config, 7, "our own", &exit_status), 0);
    assert_int_equal(n_stopped, 3);
    assert_int_equal(n_read, 2);
    assert_int_equal(recorded.migration.n_steps, 2);
    assert_true(has_warning("the step's own"));
    assert_true(has_warning("our own"));
    assert_int_equal(recorded.exit_status, exit_status);
    assert_true(recorded.namespaces.destroy_s > 2);
    assert_false(waited); /* a process of another job must not wait */
    assert_int_equal(patience_ms, HM_FINISH_ORPHAN_PATIENCE_MS);
    assert_string_equal(drained, "");
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
}

/* When the job ends, and not only at the next reap: the next job may want another value. */
static void what_a_late_step_changed_is_undone(void **state)
{
    (void)state;
    char value[8];
    struct hm_change change = {.before = "1", .after = "3"};
    hm_text_copy(change.path, scratch_path("setting"), sizeof(change.path));
    scratch_write(change.path, "3");
    late_change = &change;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(hm_file_read(change.path, value, sizeof(value), &error), 0);
    assert_string_equal(value, "1");
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
}

/* A process writes the job's record and is killed. Slurm tells an exit status to the job's own epilog. Returns the end
 * of the job in that record. */
#define SLURMS_STATUS (3 << 8)
static int64_t end_with_a_kill(const char *warning)
{
    int status = -1;
    int64_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        killed_with_ns = shared;
        hm_finish_job(&config, 7, warning, warning ? NULL : &(int){SLURMS_STATUS});
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    int64_t end_ns = *shared;
    munmap(shared, sizeof(*shared));
    return end_ns;
}

/* The next process writes the same end, however late it is: with an end on another day the job would count twice. */
static void a_record_that_is_written_again_has_the_same_end(void **state)
{
    static const struct {
        const char *first, *second; /* each call's warning; NULL: the call of the job's own epilog */
        /*
         * dead_ns: when the job was found dead before the first call; 0: it was not. wanted_ns: its end in the records;
         * 0: the time of the first call.
         */
        int64_t dead_ns, wanted_ns;
        bool is_warned;
    } rows[] = {
        {NULL, "found dead", 0, 0, false},  {"found dead", "found dead", 0, 0, true},
        {"found dead", NULL, 0, 0, false},  {"found dead", "found dead", 12, 12, true},
        {NULL, "found dead", 12, 0, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(finish_set_up(state), 0);
        job.dead_ns = rows[i].dead_ns;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        int64_t before_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME), killed_ns = end_with_a_kill(rows[i].first),
                after_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME);
        if (rows[i].wanted_ns)
            assert_true(killed_ns == rows[i].wanted_ns);
        else
            assert_true(killed_ns >= before_ns && killed_ns <= after_ns);
        for (int kept = 1; kept >= 0; kept--) { /* the first record is lost, so that the entry stays */
            is_record_lost = kept;
            assert_int_equal(hm_finish_job(&config, 7, rows[i].second, NULL), 0);
            assert_true(ended_ns == killed_ns);
            assert_int_equal(recorded.has_exit_status, !rows[i].first);
            assert_int_equal(recorded.exit_status, rows[i].first ? 0 : SLURMS_STATUS);
            assert_int_equal(way, rows[i].second ? HM_STORE_LATER : HM_STORE_AGAIN);
            assert_int_equal(has_warning("found dead"), rows[i].is_warned);
        }
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    }
}

/*
 * Slurm's exit status is the job's. But if it is 0 and the batch script's is not, the script's counts: Slurm may have
 * ended the job before it knew how the script ended.
 */
static void slurms_status_is_no_success_where_the_script_had_none(void **state)
{
    static const struct {
        bool is_known, is_scripts;
        int here, slurms, wanted;
    } rows[] = {
        {false, false, 0, 0, 0},         {true, false, 9, 0, 0},
        {true, true, 15, 0, 15},         {true, true, 0, 0, 0},
        {true, true, 0, 125, 125},       {true, false, 9, 3 << 8, 3 << 8},
        {true, true, 7 << 8, 0, 7 << 8}, {true, true, 7 << 8, 3 << 8, 3 << 8},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(finish_set_up(state), 0);
        job.has_exit_status = rows[i].is_known;
        job.exit_status_is_final = rows[i].is_scripts;
        job.exit_status = rows[i].here;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        assert_int_equal(hm_finish_job(&config, 7, NULL, &rows[i].slurms), 0);
        assert_true(recorded.has_exit_status);
        assert_int_equal(recorded.exit_status, rows[i].wanted);
    }
}

static void figures_of_a_new_run_are_not_taken(void **state)
{
    (void)state;
    is_used_again = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), -1);
    assert_int_equal(n_read, 0);
    assert_int_equal(recorded.migration.n_steps, 0);
    assert_false(has_warning("the step's own"));
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_true(hm_migrator_has_left(&config, 7, 0));
}

/* The wipe of memory may take hours, in which another run of the job can use the name of the samples' file. What is not
 * surely of this run is left out. */
static void samples_are_those_of_the_run(void **state)
{
    static struct hm_tiers tiers = {.n_tiers = 1, .tier = {{.name = "dram"}}};
    for (int again = 0; again < 2; again++) {
        assert_int_equal(finish_set_up(state), 0);
        int fd = hm_samples_create(scratch_path("run/jobs/7.samples"), &tiers, 1000, &error);
        assert_true(fd >= 0);
        close(fd);
        name_is_taken = true;
        is_used_again = again;
        assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), again ? -1 : 0);
        assert_int_equal(had_samples, !again);
    }
}

/*
 * A job that was taken for dead may begin a step while it is being finished. Its entry stays, for its own epilog: whole
 * if no record is written yet, else from the end of that record on.
 */
static void a_step_that_begins_meanwhile_keeps_its_entry(void **state)
{
    (void)state;
    for (int when = 1; when <= 2; when++) {
        assert_int_equal(finish_set_up(state), 0);
        hm_job_add_step(&job, 0);
        job.mongroup.is_begun = true;
        job.memory_peak = 5;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        const int64_t start_ns = job.start_ns;
        scratch_write(scratch_path("run/jobs/7.samples"), "samples");
        begins_step = when;
        assert_int_equal(hm_finish_job(&config, 7, "found dead", NULL), 0);
        assert_int_equal(recorded.job_id, when == 1 ? 0 : 7);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        assert_true(job.finisher.pid == 0 && job.end_ns == 0 && job.dead_ns == 0 && job.dead_boot_ns == 0);
        assert_int_equal(job.n_steps, when == 1 ? 2 : 1);
        assert_int_equal(job.step[job.n_steps - 1], 9);
        assert_true(when == 1 ? job.start_ns == start_ns : job.start_ns == ended_ns);
        assert_int_equal(job.migration.n_steps, when == 1 ? 2 : 0);
        assert_int_equal(access(scratch_path("run/jobs/7.samples"), F_OK), when == 1 ? 0 : -1);
        /* Its helpers are ended: the next step's monitor goes on with the samples, or begins anew after a record. With
         * that record the group was removed, and the next step gets its own. */
        assert_int_equal(job.monitor.pid, when == 1 ? 4000001 : 0);
        assert_int_equal(job.monitor_starter.pid, 0);
        assert_int_equal(job.mongroup.is_begun, when == 1);
        assert_int_equal(job.memory_peak, when == 1 ? 5 : 0);
        assert_int_equal(job.peak_before, when == 1 ? 0 : 5);
        begins_step = 0;
        assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0); /* its own epilog */
        assert_true(has_warning("step 9 was refused"));
        assert_true(has_warning("this node had taken the job for dead when a step began: that step is not measured"));
        assert_int_equal(recorded.n_steps, when == 1 ? 2 : 1);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    }
}

/* slurmctld may have taken its time to say that the job is over. A step or another run may have begun meanwhile. */
static void who_was_judged_dead_must_still_be_so(void **state)
{
    (void)state;
    static struct hm_job judged;
    for (int what = 0; what <= 2; what++) {
        assert_int_equal(finish_set_up(state), 0);
        job.dead_ns = 5;
        judged = job;
        job.start_ns += what == 1;
        job.dead_ns = what == 2 ? 0 : 5;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        assert_int_equal(hm_finish_dead(&config, &judged, "found dead"), 0);
        assert_int_equal(recorded.job_id, what == 0 ? 7 : 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), what == 0 ? -1 : 0);
    }
}

/* The job's own epilog ends it for good. */
static void no_step_keeps_an_entry_from_the_jobs_own_epilog(void **state)
{
    (void)state;
    begins_step = 2;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);

    /* It may come while somebody else ends the job. */
    assert_int_equal(finish_set_up(state), 0);
    begins_step = 2;
    epilog_comes = 2;
    assert_int_equal(hm_finish_job(&config, 7, "found dead", NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
}

/* What it knows is in the record, if that is not written yet. */
static void an_epilog_that_comes_while_another_process_ends_the_job(void **state)
{
    (void)state;
    epilog_comes = 1;
    assert_int_equal(hm_finish_job(&config, 7, "found dead", NULL), 0);
    assert_true(recorded.has_ended && recorded.has_exit_status && recorded.exit_status_is_final);
    assert_int_equal(recorded.exit_status, EPILOGS_STATUS);
    assert_false(has_warning("found dead"));
}

/*
 * An entry waits if its record could not be written, as on a full disk. Its job is dead: here no step has given the job
 * a cgroup, so only the end that is noted in the entry tells so.
 */
static void a_job_whose_record_waits_is_dead(void **state)
{
    (void)state;
    is_record_lost = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_string_equal(job.cgroup, "");
    assert_int_equal(job.finisher.pid, 0);
    assert_false(hm_job_is_living(&job, NULL));
}

/* If an entry cannot be read, there is no record of its job, and the next reap takes what the job had. */
static void what_cannot_be_read_goes_with_the_job(void **state)
{
    (void)state;
    assert_int_equal(truncate(scratch_path("run/jobs/7"), 10), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 1); /* its memory may be left for a later reap */
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(n_stopped, 0);
    assert_int_equal(recorded.job_id, 0);
    /* An entry that others may write to is not trusted, and stays. */
    assert_int_equal(finish_set_up(state), 0);
    assert_int_equal(chmod(scratch_path("run/jobs/7"), 0666), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), -1);
    assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), 0);
}

static int n_warnings_of_array(void)
{
    int n = 0;
    for (uint32_t i = 0; i < recorded.n_warnings; i++)
        n += strstr(recorded.warning[i], "array") != NULL;
    return n;
}

#define UNKNOWN "whether it is a task of an array is not known: "

/* What it knows is left for whoever ends the job: here the next reap. */
static void an_epilog_without_the_lock(void **state)
{
    (void)state;
    struct hm_error why = {0};
    int64_t before_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME);
    locked_by_others = n_locks + 1;
    assert_int_equal(hm_finish_job(&config, 7, NULL, &(int){SLURMS_STATUS}), -1);
    int64_t after_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME);
    assert_int_equal(hm_finish_job(&config, 7, "the epilog did not run", NULL), 0);
    assert_int_equal(recorded.exit_status, SLURMS_STATUS);
    assert_true(recorded.has_exit_status && recorded.exit_status_is_final);
    assert_false(has_warning("the epilog did not run"));
    assert_in_range(ended_ns, before_ns, after_ns);
    assert_int_equal(access(scratch_path("run/jobs/7.epilog"), F_OK), -1);

    /* One that is of an earlier run, or torn, says nothing. */
    assert_int_equal(finish_set_up(state), 0);
    assert_int_equal(hm_epilog_leave(&config, 7, NULL, &why), 0);
    job.start_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME) + 1;
    assert_false(hm_epilog_take(&config, &job));
    job.start_ns = 1;
    assert_true(hm_epilog_take(&config, &job));
    job.has_ended = false;
    hm_epilog_forget(&config, 7);
    assert_false(hm_epilog_take(&config, &job));
    scratch_write(scratch_path("run/jobs/7.epilog"), "hybridmem epilog 1\nend_ns 5\n");
    assert_int_equal(chmod(scratch_path("run/jobs/7.epilog"), 0600), 0);
    assert_false(hm_epilog_take(&config, &job));
}

/* Nor does it then tell that another run has the entry. */
static void samples_without_the_lock(void **state)
{
    (void)state;
    locked_by_others = n_locks + 3; /* the second is that of a step (finishfixture.c) */
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_non_null(strstr(why_no_samples, "whether the samples are of this run is not known: cannot lock"));
}

/* The user can set the ids of an array in a step's environment. The record has what slurmctld says: so no user can make
 * the record claim or hide that the job was a task of an array. */
static void ids_of_an_array_are_slurms(void **state)
{
    static const struct {
        bool is_told, is_own_epilog;
        uint32_t claimed[2];
        const char *name; /* by slurmctld; NULL: it does not answer */
        int n_asked;
        uint32_t wanted[2];
        const char *warning; /* NULL: none */
    } rows[] = {
        {true, true, {5, 3}, NULL, 0, {5, 3}, NULL},
        {false, true, {HM_NO_ID, HM_NO_ID}, "5_3", 0, {HM_NO_ID, HM_NO_ID}, NULL},
        {false, true, {5, 3}, "5_3", 1, {5, 3}, NULL},
        {false, true, {5, 3}, "5_30", 1, {5, 30}, NULL},
        {false, true, {7, 3}, "7_3", 1, {7, 3}, NULL},
        {false, true, {5, HM_NO_ID}, "5_0", 1, {5, 0}, NULL},
        {false, true, {5, 3}, "7", 1, {HM_NO_ID, HM_NO_ID}, NULL},
        {false, true, {5, 3}, "7+1", 1, {HM_NO_ID, HM_NO_ID}, NULL},
        {false, true, {5, 3}, "5_4294967295", 1, {HM_NO_ID, HM_NO_ID}, UNKNOWN "slurmctld names it 5_4294967295"},
        {false, true, {5, 3}, NULL, 1, {HM_NO_ID, HM_NO_ID}, UNKNOWN "no answer"},
        {false, false, {5, 3}, "5_3", 0, {HM_NO_ID, HM_NO_ID}, UNKNOWN "its epilog did not run"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(finish_set_up(state), 0);
        name_by_slurm = rows[i].name;
        job.array_is_told = rows[i].is_told;
        job.array_job_id = rows[i].claimed[0];
        job.array_task_id = rows[i].claimed[1];
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        assert_int_equal(hm_finish_job(&config, 7, rows[i].is_own_epilog ? NULL : "our own", NULL), 0);
        if (n_asked != rows[i].n_asked || is_likely_asked != (rows[i].claimed[0] == 7) ||
            recorded.array_job_id != rows[i].wanted[0] || recorded.array_task_id != rows[i].wanted[1] ||
            n_warnings_of_array() != (rows[i].warning != NULL) || (rows[i].warning && !has_warning(rows[i].warning)))
            fail_msg("row %zu: %u_%u, asked %d times, %d warnings", i, recorded.array_job_id, recorded.array_task_id,
                     n_asked, n_warnings_of_array());
    }
}

/* Slurm's answer is kept with a record that waits: whoever writes it later cannot ask. */
static void ids_of_a_record_that_waits_stay(void **state)
{
    (void)state;
    name_by_slurm = "5_3";
    job.array_job_id = 5;
    job.array_task_id = 3;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    is_record_lost = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    is_record_lost = false;
    assert_int_equal(hm_finish_job(&config, 7, "our own", NULL), 0);
    assert_int_equal(recorded.array_job_id, 5);
    assert_int_equal(n_asked, 1);
}

/* Makes what a recorder of this user leaves. Returns a descriptor of the folder. */
static int leave_recording(char path[], uid_t uid)
{
    char table[64];
    assert_non_null(mkdtemp(path));
    snprintf(table, sizeof(table), "%s/table", path);
    scratch_write(table, "");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0 && fchown(fd, uid, (gid_t)-1) == 0);
    return fd;
}

/* Of recorders that were killed with the job. One that lives, of another job of the user's, holds its own. */
static void recordings_of_a_profiled_job_are_removed(void **state)
{
    const uid_t uid = geteuid() == 0 ? 65534 : geteuid();
    char left[] = "/dev/shm/" HM_HELDFOLDER_FORM, held[] = "/dev/shm/" HM_HELDFOLDER_FORM;
    (void)state;
    close(leave_recording(left, uid));
    int fd = leave_recording(held, uid);
    assert_int_equal(hm_flock_try(fd), 0);
    job.uid = uid;
    job.gid = geteuid() == 0 ? 65534 : getegid();
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(access(left, F_OK), 0); /* a job of another mode has none */
    assert_int_equal(finish_set_up(state), 0);
    job.uid = uid;
    job.gid = geteuid() == 0 ? 65534 : getegid();
    job.profiled.is_known = true;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(held, F_OK), 0);
    hm_heldfolder_empty(fd);
    assert_int_equal(rmdir(held), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_a_late_step_brought_is_in_the_record, finish_set_up),
        cmocka_unit_test_setup(what_a_late_step_changed_is_undone, finish_set_up),
        cmocka_unit_test(a_record_that_is_written_again_has_the_same_end),
        cmocka_unit_test(slurms_status_is_no_success_where_the_script_had_none),
        cmocka_unit_test_setup(an_epilog_without_the_lock, finish_set_up),
        cmocka_unit_test_setup(samples_without_the_lock, finish_set_up),
        cmocka_unit_test(ids_of_an_array_are_slurms),
        cmocka_unit_test_setup(ids_of_a_record_that_waits_stay, finish_set_up),
        cmocka_unit_test_setup(figures_of_a_new_run_are_not_taken, finish_set_up),
        cmocka_unit_test_setup(samples_are_those_of_the_run, finish_set_up),
        cmocka_unit_test_setup(a_step_that_begins_meanwhile_keeps_its_entry, finish_set_up),
        cmocka_unit_test(who_was_judged_dead_must_still_be_so),
        cmocka_unit_test_setup(no_step_keeps_an_entry_from_the_jobs_own_epilog, finish_set_up),
        cmocka_unit_test_setup(an_epilog_that_comes_while_another_process_ends_the_job, finish_set_up),
        cmocka_unit_test_setup(a_job_whose_record_waits_is_dead, finish_set_up),
        cmocka_unit_test_setup(recordings_of_a_profiled_job_are_removed, finish_set_up),
        cmocka_unit_test_setup(what_cannot_be_read_goes_with_the_job, finish_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
