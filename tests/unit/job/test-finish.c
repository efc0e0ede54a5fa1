/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the end of a job while the end of one of its steps is late. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/process.h"
#include "freshledger.h"
#include "job/hooks/finish.h"
#include "job/ledger/figurefile.h"
#include "job/ledger/living.h"
#include "job/namespaces/namespaces.h"
#include "job/programs/migrator.h"
#include "job/record/record.h"
#include "slurm/scontrol.h"
#include "unit/lib/scratch.h"

static struct hm_error error;
static struct hm_config config;
static struct hm_job job, recorded;
static bool is_used_again; /* another run uses the job's number while helpers are stopped */
static int n_read, n_stopped;
static int patience_ms; /* the time that helpers were given */
static int left_by;     /* errno if the job's namespaces cannot be removed; 0: they are removed */
static bool waited;     /* the removal waited for what was in use */
static bool is_record_lost;
static char drained[HM_ERROR_TEXT];
static int64_t ended_ns; /* end of the job in the record */
/* if not NULL (shared memory), hm_record_write leaves the record's end here, and the process ends as if killed */
static int64_t *killed_with_ns;

int __wrap_hm_process_stop_all(const struct hm_process *process, int n, int given_ms, struct hm_error *why);
int __wrap_hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *why);
int __real_hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *why);

int hm_namespaces_remove(const struct hm_config *of, struct hm_job *what, bool waits, struct hm_error *why)
{
    (void)of;
    waited = waits;
    what->namespaces.destroy_s = 2.5;
    return left_by ? hm_fail(why, left_by, "namespace0.0 is in use by 17 (cp)") : 0;
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *why)
{
    (void)why;
    snprintf(drained, sizeof(drained), "%s: %s", node, reason);
    return 0;
}

/*
 * Helpers are stopped without the lock. Meanwhile the slurmstepd of step 1 takes its figures, or another run uses the
 * job's number.
 */
int __wrap_hm_process_stop_all(const struct hm_process *process, int n, int given_ms, struct hm_error *why)
{
    (void)why;
    assert_true(given_ms > 0);
    patience_ms = given_ms;
    for (int i = 0; i < n; i++)
        n_stopped += process[i].pid > 0;
    int lock = hm_ledger_lock(&config, &error);
    assert_true(lock >= 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    if (is_used_again)
        job.finisher.pid = 0;
    else
        assert_int_equal(hm_migrator_collect(&config, &job, 1, &error), 0);
    hm_job_warn(&job, "the step's own");
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    hm_ledger_unlock(lock);
    return 0;
}

int __wrap_hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *why)
{
    int fd = open(scratch_path("run/jobs/lock"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1); /* this process holds the lock */
    close(fd);
    n_read++;
    return __real_hm_progress_read(path, progress, why);
}

int hm_record_write(const struct hm_config *of, const struct hm_tiers *tiers, const struct hm_job *what,
                    const char *samples, int64_t end_ns, struct hm_error *why)
{
    (void)of, (void)tiers, (void)samples, (void)why;
    if (killed_with_ns) {
        *killed_with_ns = end_ns;
        _exit(0);
    }
    recorded = *what;
    ended_ns = end_ns;
    return is_record_lost ? -1 : 0;
}

static void leave(uint32_t step_id)
{
    char name[64];
    hm_figurefile_name(7, step_id, name, sizeof(name));
    int fd = hm_progress_create(scratch_path("run/jobs/%s", name), step_id, &error);
    assert_true(fd >= 0);
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    job.recorded = true;
    job.monitor.pid = 4000001; /* no process has any of these ids */
    job.migrator[0] = (struct hm_step_migrator){.step_id = 0, .process = {.pid = 4000002}};
    job.migrator[HM_JOB_MIGRATORS - 1] = (struct hm_step_migrator){.step_id = 1, .process = {.pid = 4000003}};
    memset(&recorded, 0, sizeof(recorded));
    n_read = n_stopped = patience_ms = 0;
    is_used_again = false;
    left_by = 0;
    is_record_lost = false;
    killed_with_ns = NULL;
    drained[0] = '\0';
    if (hm_ledger_write(&config, &job, &error) != 0)
        return -1;
    leave(0);
    leave(1);
    return 0;
}

static bool has_warning(const char *text)
{
    for (uint32_t i = 0; i < recorded.n_warnings; i++)
        if (strcmp(recorded.warning[i], text) == 0)
            return true;
    return false;
}

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

/* A process writes the job's record and is killed. Returns the end of the job in that record. */
static int64_t end_with_a_kill(const char *warning)
{
    int status = -1;
    int64_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        killed_with_ns = shared;
        hm_finish_job(&config, 7, warning, NULL);
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
        /* dead_ns: when the job was found dead before the first call; 0: at the first call */
        int64_t dead_ns, wanted_ns;
        bool is_warned;
    } rows[] = {
        {NULL, "found dead", 0, 0, false},  {"found dead", "found dead", 0, 0, true},
        {"found dead", NULL, 0, 0, false},  {"found dead", "found dead", 12, 12, true},
        {NULL, "found dead", 12, 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(set_up(state), 0);
        job.dead_ns = rows[i].dead_ns;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        int64_t before_ns = hm_now_ns(), killed_ns = end_with_a_kill(rows[i].first), after_ns = hm_now_ns();
        if (rows[i].wanted_ns)
            assert_true(killed_ns == rows[i].wanted_ns);
        else
            assert_true(killed_ns >= before_ns && killed_ns <= after_ns);
        for (int kept = 1; kept >= 0; kept--) { /* the first record is lost, so that the entry stays */
            is_record_lost = kept;
            assert_int_equal(hm_finish_job(&config, 7, rows[i].second, NULL), 0);
            assert_true(ended_ns == killed_ns);
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(set_up(state), 0);
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

/* Memory that no later reap can remove drains the node. */
static void memory_that_stays_drains_the_node(void **state)
{
    (void)state;
    snprintf(job.node, sizeof(job.node), "n9");
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    left_by = EIO;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0); /* not 1, as no later reap can remove it */
    assert_string_equal(
        drained, "n9: hybridmem: job 7: persistent memory was not given back: namespace0.0 is in use by 17 (cp)");
    assert_true(has_warning("its DAX file systems were not removed: namespace0.0 is in use by 17 (cp)"));
}

/*
 * Memory in use does not drain the node, as another job of the user can keep it in use for any time. Nor does a wipe
 * that needs more time, or an overload of the node.
 */
static void memory_that_is_for_later_does_not(void **state)
{
    static const int numbers[] = {EBUSY, ETIME, EAGAIN, ENOMEM, ETIMEDOUT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_int_equal(set_up(state), 0);
        left_by = numbers[i];
        assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 1);
        assert_true(waited);
        assert_int_equal(patience_ms, HM_FINISH_PATIENCE_MS);
        assert_string_equal(drained, "");
        assert_true(has_warning("its DAX file systems were not removed: namespace0.0 is in use by 17 (cp)"));
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
        assert_int_equal(errno, ENOENT);
    }
    /* While the entry stays, because its record cannot be written, no reap removes the memory. */
    assert_int_equal(set_up(state), 0);
    left_by = ETIME;
    is_record_lost = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
}

/* An entry that waits with its record, as after a full disk, is no living job, though no step has given it a cgroup. */
static void a_job_whose_record_waits_is_dead(void **state)
{
    (void)state;
    is_record_lost = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_string_equal(job.cgroup, "");
    assert_int_equal(job.finisher.pid, 0);
    assert_false(hm_job_is_living(&job));
}

/* A setting that cannot be restored keeps its entry, so that the next reap tries again. The record is written once. */
static void a_setting_that_is_not_restored_keeps_the_entry(void **state)
{
    (void)state;
    char text[16];
    job.n_changes = 1;
    job.change[0] = (struct hm_change){.before = "1", .after = "3"};
    snprintf(job.change[0].path, sizeof(job.change[0].path), "%s", scratch); /* a folder */
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(recorded.job_id, 7);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.n_changes, 1);
    assert_int_equal(job.finisher.pid, 0);
    assert_false(job.recorded);
    assert_false(hm_job_is_living(&job));
    scratch_write(scratch_path("setting"), "3\n");
    snprintf(job.change[0].path, sizeof(job.change[0].path), "%s/setting", scratch);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    recorded.job_id = 0;
    assert_int_equal(hm_finish_job(&config, 7, "found dead", NULL), 0);
    assert_int_equal(recorded.job_id, 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hm_file_read(scratch_path("setting"), text, sizeof(text), NULL), 0);
    assert_string_equal(text, "1");
}

/* If an entry cannot be read, there is no record of its job, and the next reap takes what the job had. */
static void what_cannot_be_read_goes_with_the_job(void **state)
{
    (void)state;
    assert_int_equal(truncate(scratch_path("run/jobs/7"), 10), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 1); /* its memory may be in use */
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(n_stopped, 0);
    assert_int_equal(recorded.job_id, 0);
    /* An entry that others may write to is not trusted, and stays. */
    assert_int_equal(set_up(state), 0);
    assert_int_equal(chmod(scratch_path("run/jobs/7"), 0666), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), -1);
    assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), 0);
}

/* Makes a folder like a resctrl group, which is empty unless the test fills it. */
static void leave_group(void)
{
    assert_int_equal(scratch_remove(scratch_path("resctrl")), 0);
    snprintf(config.resctrl_dir, sizeof(config.resctrl_dir), "%s/resctrl", scratch);
    assert_int_equal(mkdir(scratch_path("resctrl"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("resctrl/mon_groups"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("resctrl/mon_groups/hybridmem.7.2"), 0700), 0);
    job.mongroup = (struct hm_mongroup){.is_begun = true, .restart = 2};
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static bool is_group_there(void)
{
    return access(scratch_path("resctrl/mon_groups/hybridmem.7.2"), F_OK) == 0;
}

static void the_group_goes_behind_the_monitor(void **state)
{
    char text[HM_WARNING];
    leave_group();
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_false(is_group_there());
    assert_true(recorded.mongroup.is_begun); /* the record has what the group counted */
    assert_string_equal(recorded.mongroup.why, "");
    /* A group that cannot be removed does not affect the record or its figures. */
    assert_int_equal(set_up(state), 0);
    leave_group();
    scratch_write(scratch_path("resctrl/mon_groups/hybridmem.7.2/held"), "");
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    snprintf(text, sizeof(text),
             "its resctrl group was not removed: cannot remove %s/resctrl/mon_groups/hybridmem.7.2: "
             "Directory not empty",
             scratch);
    assert_true(has_warning(text));
    assert_string_equal(recorded.mongroup.why, "");
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
}

static void the_group_of_a_new_run_stays(void **state)
{
    (void)state;
    leave_group();
    is_used_again = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), -1);
    assert_true(is_group_there());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_a_late_step_brought_is_in_the_record, set_up),
        cmocka_unit_test(a_record_that_is_written_again_has_the_same_end),
        cmocka_unit_test(slurms_status_is_no_success_where_the_script_had_none),
        cmocka_unit_test_setup(figures_of_a_new_run_are_not_taken, set_up),
        cmocka_unit_test_setup(memory_that_stays_drains_the_node, set_up),
        cmocka_unit_test(memory_that_is_for_later_does_not),
        cmocka_unit_test_setup(a_job_whose_record_waits_is_dead, set_up),
        cmocka_unit_test_setup(a_setting_that_is_not_restored_keeps_the_entry, set_up),
        cmocka_unit_test_setup(what_cannot_be_read_goes_with_the_job, set_up),
        cmocka_unit_test_setup(the_group_goes_behind_the_monitor, set_up),
        cmocka_unit_test_setup(the_group_of_a_new_run_stays, set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
