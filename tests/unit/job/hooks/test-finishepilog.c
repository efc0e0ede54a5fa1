/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what Slurm knows of a job's end: its own epilog, which another process may forestall, and slurmctld. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "finishfixture.h"
#include "job/hooks/finish.h"
#include "job/ledger/epilog.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

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

static int n_warnings_of_array(void)
{
    int n = 0;
    for (uint32_t i = 0; i < recorded.n_warnings; i++)
        n += strstr(recorded.warning[i], "array") != NULL;
    return n;
}

#define UNKNOWN "whether it is a task of an array is not known: "

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_that_is_written_again_has_the_same_end),
        cmocka_unit_test(slurms_status_is_no_success_where_the_script_had_none),
        cmocka_unit_test_setup(an_epilog_without_the_lock, finish_set_up),
        cmocka_unit_test_setup(samples_without_the_lock, finish_set_up),
        cmocka_unit_test(ids_of_an_array_are_slurms),
        cmocka_unit_test_setup(ids_of_a_record_that_waits_stay, finish_set_up),
        cmocka_unit_test_setup(no_step_keeps_an_entry_from_the_jobs_own_epilog, finish_set_up),
        cmocka_unit_test_setup(an_epilog_that_comes_while_another_process_ends_the_job, finish_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
