/* SPDX-License-Identifier: Apache-2.0 */
#include "finishfixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "base/process.h"
#include "job/hooks/claim.h"
#include "job/ledger/figurefile.h"
#include "job/namespaces/namespaces.h"
#include "job/programs/migrator.h"
#include "job/record/record.h"
#include "slurm/scontrol.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

struct hm_error error;
struct hm_config config;
struct hm_job job, recorded;
bool is_used_again, waited, is_record_lost, had_samples, name_is_taken;
int begins_step;
int epilog_comes;
const struct hm_change *late_change;
int n_read, n_stopped, n_asked, patience_ms, left_by;
const char *name_by_slurm;
bool is_likely_asked;
char drained[HM_ERROR_TEXT], why_no_samples[HM_ERROR_TEXT];
int n_locks, locked_by_others;
int64_t ended_ns, *killed_with_ns;
enum hm_store_way way;

int __wrap_hm_process_stop_all(const struct hm_process *process, int n, int given_ms, struct hm_error *why);
int __wrap_hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *why);
int __real_hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *why);

int __real_hm_flock_wait(int lock, int given_ms);
int __wrap_hm_flock_wait(int lock, int given_ms);

int __wrap_hm_flock_wait(int lock, int given_ms)
{
    if (++n_locks != locked_by_others)
        return __real_hm_flock_wait(lock, given_ms);
    errno = ETIMEDOUT;
    return -1;
}

int hm_namespaces_remove(const struct hm_config *of, struct hm_job *what, bool waits, struct hm_error *why)
{
    (void)of;
    waited = waits;
    what->namespaces.destroy_s = 2.5;
    if (name_is_taken)
        assert_int_equal(unlink(scratch_path("run/jobs/7.samples")), 0);
    return left_by ? hm_fail(why, left_by, "namespace0.0 is in use by 17 (cp)") : 0;
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *why)
{
    (void)why;
    snprintf(drained, sizeof(drained), "%s: %s", node, reason);
    return 0;
}

int hm_scontrol_name(uint32_t job_id, const char *likely, char *name, size_t size, struct hm_error *why)
{
    assert_int_equal(job_id, 7);
    /* The name that a step claims comes here only where the array has this job's number. With other numbers, slurmctld
     * would be asked for the arrays of others. */
    assert_true(!likely || strcmp(likely, "7_3") == 0);
    is_likely_asked = likely != NULL;
    assert_int_equal(hm_heldlock_check("scontrol", NULL), 0);
    n_asked++;
    return name_by_slurm ? snprintf(name, size, "%s", name_by_slurm) < 0 : hm_fail(why, ETIMEDOUT, "no answer");
}

/* The job's own epilog, while another process ends the job. */
static void come(void)
{
    struct hm_found found;
    const struct hm_claimant claimant = {.is_own_epilog = true, .exit_status = &(int){EPILOGS_STATUS}};
    assert_int_equal(hm_claim_take(&config, 7, &claimant, &job, &found), 1);
}

/* What a step that begins puts into the entry (step/step.c). */
static void begin_step(void)
{
    job.dead_ns = 0;
    job.dead_boot_ns = 0;
    hm_job_add_step(&job, 9);
    hm_job_warn(&job, "step 9 was refused");
    assert_int_equal(hm_process_identify(getpid(), &job.monitor_starter), 0);
}

/*
 * Helpers are stopped without the lock. This does what may happen meanwhile: the slurmstepd of step 1 takes the step's
 * figures, or another run uses the job's number.
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
    if (begins_step == 1)
        begin_step();
    if (late_change)
        job.change[job.n_changes++] = *late_change;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    hm_ledger_unlock(lock);
    if (epilog_comes == 1)
        come();
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
                    const struct hm_samples *samples, const char *no_samples, int64_t end_ns, enum hm_store_way how,
                    struct hm_error *why)
{
    (void)of, (void)tiers, (void)why;
    had_samples = samples != NULL;
    snprintf(why_no_samples, sizeof(why_no_samples), "%s", no_samples);
    assert_true(samples || no_samples[0]);
    if (killed_with_ns) {
        *killed_with_ns = end_ns;
        _exit(0);
    }
    if (begins_step == 2) {
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        begin_step();
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    }
    if (epilog_comes == 2)
        come();
    recorded = *what;
    ended_ns = end_ns;
    way = how;
    return is_record_lost ? -1 : 0;
}

/* Leaves figures as a migrator of this step does. */
static void leave(uint32_t step_id)
{
    char name[64];
    hm_figurefile_name(7, step_id, name, sizeof(name));
    int fd = hm_progress_create(scratch_path("run/jobs/%s", name), step_id, &error);
    assert_true(fd >= 0);
    close(fd);
}

int finish_set_up(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    job.recorded = true;
    job.monitor.pid = 4000001; /* no process has one of these ids and 0 as its start time */
    job.migrator[0] = (struct hm_step_migrator){.step_id = 0, .process = {.pid = 4000002}};
    job.migrator[HM_JOB_MIGRATORS - 1] = (struct hm_step_migrator){.step_id = 1, .process = {.pid = 4000003}};
    memset(&recorded, 0, sizeof(recorded));
    n_read = n_stopped = n_asked = patience_ms = 0;
    name_by_slurm = NULL;
    is_likely_asked = false;
    is_used_again = name_is_taken = false;
    begins_step = 0;
    epilog_comes = 0;
    late_change = NULL;
    left_by = 0;
    is_record_lost = false;
    killed_with_ns = NULL;
    drained[0] = '\0';
    locked_by_others = 0;
    if (hm_ledger_write(&config, &job, &error) != 0)
        return -1;
    leave(0);
    leave(1);
    return 0;
}

bool has_warning(const char *text)
{
    for (uint32_t i = 0; i < recorded.n_warnings; i++)
        if (strcmp(recorded.warning[i], text) == 0)
            return true;
    return false;
}
