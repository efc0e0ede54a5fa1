/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the end of a job leaves: its record and its entry, also where a step ends late or begins meanwhile. What
 * Slurm knows of the end is in test-finishepilog.c. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/heldfolder.h"
#include "finishfixture.h"
#include "job/hooks/finish.h"
#include "job/ledger/living.h"
#include "job/programs/migrator.h"
#include "meter/monitor/samples.h"
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
        cmocka_unit_test_setup(figures_of_a_new_run_are_not_taken, finish_set_up),
        cmocka_unit_test_setup(samples_are_those_of_the_run, finish_set_up),
        cmocka_unit_test_setup(a_step_that_begins_meanwhile_keeps_its_entry, finish_set_up),
        cmocka_unit_test(who_was_judged_dead_must_still_be_so),
        cmocka_unit_test_setup(a_job_whose_record_waits_is_dead, finish_set_up),
        cmocka_unit_test_setup(recordings_of_a_profiled_job_are_removed, finish_set_up),
        cmocka_unit_test_setup(what_cannot_be_read_goes_with_the_job, finish_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
