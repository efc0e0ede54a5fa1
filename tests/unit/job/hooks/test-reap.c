/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which jobs a reap takes for dead, and what it does where something cannot be removed or read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "job/ledger/epilog.h"
#include "job/ledger/living.h"
#include "reapfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define DAY_S UINT64_C(86400)

static void what_cannot_be_removed_drains_the_node(void **state)
{
    (void)state;
    left_by = ENOTRECOVERABLE;
    for (int i = 0; i < 2; i++) { /* if the drain failed, the next reap tries it again */
        can_drain = i > 0;
        drained[0] = '\0';
        reap("n9", true);
        assert_string_equal(drained, "n9: hybridmem: persistent memory that a past job left could not be taken back: "
                                     "hybridmem:test:7.0.0 is left: no wipe");
    }
}

static void no_other_failure_of_a_reap_drains_the_node(void **state)
{
    (void)state;
    static const int numbers[] = {0, ETIME, EIO, ENOENT, ENOMEM, ETIMEDOUT};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        left_by = numbers[i];
        reap("n9", true);
        assert_string_equal(drained, "");
    }
    assert_int_equal(n_reaped, (int)N_ROWS(numbers));
    /* Without the node's name nothing is drained. If the configuration cannot be read, no namespaces are looked for. */
    left_by = ENOTRECOVERABLE;
    reap(NULL, true);
    n_reaped = 0;
    reap("n9", false);
    assert_int_equal(n_reaped, 0);
    assert_string_equal(drained, "");
}

/* Leaves the entry of a job that was found dead at these times. */
static void leave_dead(int64_t real_ns, uint64_t boot_ns)
{
    job.dead_ns = real_ns;
    job.dead_boot_ns = boot_ns;
    snprintf(job.cgroup, sizeof(job.cgroup), "/sys/fs/cgroup/no such job");
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
}

/* The clock of the day may be set back or forward after the job was found dead: its grace stays as long. */
static void a_dead_jobs_grace_is_no_matter_of_the_clock_of_the_day(void **state)
{
    (void)state;
    static const struct {
        int64_t real_age_s;
        uint64_t age_s;
        bool is_kept;
    } rows[] = {{-3600, 61, false}, {0, 61, false}, {61, 59, true}, {3600, 0, true}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(reap_set_up(state), 0);
        int64_t real_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME) - rows[i].real_age_s * 1000000000;
        uint64_t boot_ns = hm_clock_ns(CLOCK_BOOTTIME) - rows[i].age_s * 1000000000;
        leave_dead(real_ns, boot_ns);
        reap(NULL, true);
        assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), rows[i].is_kept ? 0 : -1);
    }
    /* an entry of an earlier version has no dead_boot_ns yet */
    assert_int_equal(reap_set_up(state), 0);
    leave_dead(1, 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns == 1 && job.dead_boot_ns > 0);
}

/*
 * A job whose cgroup is gone may run: an allocation between two steps, for hours perhaps. So slurmctld is asked once in
 * each grace, and where it does not answer, the job is taken to run for a day, and until its time limit and the grace
 * are over. The limit is that of its beginning, so that it alone does not tell that the job has ended.
 */
static void a_job_that_runs_by_what_slurmctld_says_stays(void **state)
{
    (void)state;
    const uint64_t now_s = hm_clock_ns(CLOCK_REALTIME) / 1000000000;
    static char boot_past[] = "another boot";
    const struct {
        int running;
        uint64_t end_s; /* of the time limit; 0: not known */
        uint64_t dead_for_s;
        bool has_ended; /* by its own epilog */
        const char *boot;
        bool is_kept;
        int n_asked;
    } rows[] = {
        {1, 0, 61, false, NULL, true, 1},
        {0, now_s + 3600, 61, false, NULL, false, 1},
        {-1, 0, 61, false, NULL, true, 1},
        {-1, now_s + 3600, 61, false, NULL, true, 1},
        {-1, now_s - 3600, 61, false, NULL, true, 1},
        {-1, 0, DAY_S - 60, false, NULL, true, 1},
        {-1, 0, DAY_S + 60, false, NULL, false, 1},
        {-1, now_s - 30, DAY_S + 60, false, NULL, true, 1},
        {-1, now_s - 3600, DAY_S + 60, false, NULL, false, 1},
        {1, 0, 61, true, NULL, false, 0},
        {1, now_s + 3600, 61, false, boot_past, false, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(reap_set_up(state), 0);
        running_by_slurm = rows[i].running;
        job.end_s = rows[i].end_s;
        job.has_ended = rows[i].has_ended;
        snprintf(job.node, sizeof(job.node), "n9");
        if (rows[i].boot)
            snprintf(job.boot_id, sizeof(job.boot_id), "%s", rows[i].boot);
        leave_dead(1, hm_clock_ns(CLOCK_BOOTTIME) - rows[i].dead_for_s * 1000000000);
        reap(NULL, true);
        assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), rows[i].is_kept ? 0 : -1);
        assert_int_equal(n_asked, rows[i].n_asked);
    }
    assert_int_equal(reap_set_up(state), 0);
    running_by_slurm = 1;
    leave_dead(1, hm_clock_ns(CLOCK_BOOTTIME) - UINT64_C(61) * 1000000000);
    for (int i = 0; i < 3; i++)
        reap(NULL, true);
    assert_int_equal(n_asked, 1);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns > 1); /* if it ends without an epilog, it did so after the answer */
}

/* slurmctld may take its time for each answer. So one reap does not ask for all jobs, and the next asks for the others.
 */
static void a_reap_asks_for_eight_jobs_at_most(void **state)
{
    (void)state;
    running_by_slurm = 1;
    for (job.job_id = 7; job.job_id <= 16; job.job_id++)
        leave_dead(1, hm_clock_ns(CLOCK_BOOTTIME) - UINT64_C(61) * 1000000000);
    reap(NULL, true);
    assert_int_equal(n_asked, 8);
    reap(NULL, true);
    assert_int_equal(n_asked, 10);
    for (uint32_t id = 7; id <= 16; id++)
        assert_int_equal(hm_ledger_read(&config, id, &job, NULL), 0);
}

/* A job may have no process for a moment between two steps, and more than once: each time it has its whole grace. */
static void a_job_that_was_taken_for_dead_lives_again(void **state)
{
    (void)state;
    leave_dead(1, 1);
    assert_int_equal(mkdir(scratch_path("job_7"), 0755), 0);
    scratch_write(scratch_path("job_7/cgroup.events"), "populated 1\n");
    snprintf(job.cgroup, sizeof(job.cgroup), "%s", scratch_path("job_7"));
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns == 0 && job.dead_boot_ns == 0);
    scratch_write(scratch_path("job_7/cgroup.events"), "populated 0\n");
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns > 1 && job.dead_boot_ns > 1);
    job.end_ns = 1; /* an epilog has ended it */
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    scratch_write(scratch_path("job_7/cgroup.events"), "populated 1\n");
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns > 1);
}

/* Each prolog and epilog looks at all jobs, so the lock is not taken for those that live. */
static void a_living_job_is_read_once(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("living"), 0755), 0);
    scratch_write(scratch_path("living/cgroup.events"), "populated 1\n");
    snprintf(job.cgroup, sizeof(job.cgroup), "%s", scratch_path("living"));
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    n_reads = 0;
    reap(NULL, true);
    assert_int_equal(n_reads, 1);
    /* Its epilog has come, and could not lock the ledger. */
    assert_int_equal(hm_epilog_leave(&config, 7, NULL, NULL), 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), -1);
    assert_int_equal(errno, ENOENT);
}

/*
 * The job's own epilog has begun, and was cut short, as by a record folder that hangs. No grace is waited for, as no
 * other epilog will come.
 */
static void an_end_that_was_cut_short_is_completed_at_once(void **state)
{
    (void)state;
    snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", scratch);
    job.recorded = job.has_ended = true;
    job.end_ns = 1;
    leave_dead(1, hm_clock_ns(CLOCK_BOOTTIME));
    assert_int_equal(hm_process_identify(getpid(), &job.finisher), 0); /* as if the epilog were still there */
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    job.finisher.pid = 0;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), -1);
    char *record = scratch_path("state/pending/0000000000000000001_7_%u_%u_node.json", job.uid, job.gid);
    assert_int_equal(access(record, F_OK), 0);
    assert_int_equal(access(scratch_path("state/records"), F_OK), -1);
}

static void an_entry_that_cannot_be_read_stays_while_its_job_may_live(void **state)
{
    (void)state;
    char *entry = scratch_path("run/jobs/7");
    assert_int_equal(truncate(entry, 10), 0);
    is_living = true;
    reap(NULL, true);
    assert_int_equal(access(entry, F_OK), 0);
    assert_int_equal(sought_grace_s, 60);
    is_living = false;
    is_used_again = true;
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_int_equal(truncate(entry, 10), 0);
    is_used_again = false;
    reap(NULL, true);
    assert_int_equal(access(entry, F_OK), -1);
}

/* Without a cgroup in the entry the job is looked for. If it is not found, it is dead, and has its grace as others. */
static void a_job_without_a_cgroup_is_looked_for(void **state)
{
    (void)state;
    static const unsigned graces_s[][2] = {{0, 600}, {600, 600}, {601, 601}}; /* configured, and used: at least 600 */
    for (size_t i = 0; i < N_ROWS(graces_s); i++) {
        config.reap_grace_s = graces_s[i][0];
        reap(NULL, true);
        assert_int_equal(sought_grace_s, graces_s[i][1]);
    }
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns == 0);

    /* A prolog that waits for the wipe of memory has no cgroup of its job yet. */
    is_living = false;
    assert_int_equal(hm_process_identify(getpid(), &job.prolog), 0);
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns == 0);
    job.prolog.pid = 0;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);

    is_used_again = true; /* by a run that starts just now */
    struct hm_job before = job;
    job.start_ns++;
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.start_ns == before.start_ns + 1 && job.dead_ns == 0);

    is_used_again = false;
    sought_grace_s = 0;
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns != 0);
    assert_false(hm_job_is_living(&job, NULL));

    sought_grace_s = 0;
    job.dead_boot_ns -= UINT64_C(61) * 1000000000;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap(NULL, true);
    assert_int_equal(sought_grace_s, 0); /* its end is noted, and nobody looks again */
    assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), -1);
}

/* Earlier versions had the ledger where users reach its lock. The slurmstepds of jobs that began with such a version
 * still look for it there. */
static void the_ledger_is_moved_when_its_last_job_has_ended(void **state)
{
    (void)state;
    struct stat status;
    is_living = true;
    assert_int_equal(unlink(scratch_path("run/jobs")), 0);
    assert_int_equal(rename(scratch_path("run/root/jobs"), scratch_path("run/jobs")), 0);
    reap(NULL, true);
    assert_int_equal(lstat(scratch_path("run/jobs"), &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(hm_ledger_remove(&config, 7, NULL), 0);
    reap(NULL, true);
    assert_int_equal(lstat(scratch_path("run/jobs"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(access(scratch_path("run/root/jobs/lock"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_cannot_be_removed_drains_the_node, reap_set_up),
        cmocka_unit_test_setup(no_other_failure_of_a_reap_drains_the_node, reap_set_up),
        cmocka_unit_test_setup(a_dead_jobs_grace_is_no_matter_of_the_clock_of_the_day, reap_set_up),
        cmocka_unit_test_setup(a_job_that_runs_by_what_slurmctld_says_stays, reap_set_up),
        cmocka_unit_test_setup(a_reap_asks_for_eight_jobs_at_most, reap_set_up),
        cmocka_unit_test_setup(a_job_that_was_taken_for_dead_lives_again, reap_set_up),
        cmocka_unit_test_setup(a_living_job_is_read_once, reap_set_up),
        cmocka_unit_test_setup(an_end_that_was_cut_short_is_completed_at_once, reap_set_up),
        cmocka_unit_test_setup(an_entry_that_cannot_be_read_stays_while_its_job_may_live, reap_set_up),
        cmocka_unit_test_setup(a_job_without_a_cgroup_is_looked_for, reap_set_up),
        cmocka_unit_test_setup(the_ledger_is_moved_when_its_last_job_has_ended, reap_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
