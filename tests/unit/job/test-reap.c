/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a reap that cannot remove or read something. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/spawn.h"
#include "freshledger.h"
#include "job/hooks/reap.h"
#include "job/ledger/living.h"
#include "job/ledger/unread.h"
#include "job/namespaces/namespaces.h"
#include "job/programs/monitor.h"
#include "slurm/scontrol.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_job job;
static int left_by; /* errno if the namespaces of no job cannot be removed; 0: they are removed */
static bool is_living, can_drain;
static unsigned sought_grace_s;
static bool is_used_again; /* another run uses the job's number while the job's cgroup is looked for */
static int n_reaped;
static uid_t monitors; /* the monitors' system user */
static char drained[HM_ERROR_TEXT];

static int n_reads; /* of the ledger's entries */

int __real_hm_ledger_read(const struct hm_config *of, uint32_t job_id, struct hm_job *what, struct hm_error *why);
int __wrap_hm_ledger_read(const struct hm_config *of, uint32_t job_id, struct hm_job *what, struct hm_error *why);

int __wrap_hm_ledger_read(const struct hm_config *of, uint32_t job_id, struct hm_job *what, struct hm_error *why)
{
    n_reads++;
    return __real_hm_ledger_read(of, job_id, what, why);
}

int hm_namespaces_reap(const struct hm_config *of, const struct hm_namespaces_reap *how, struct hm_error *why)
{
    assert_ptr_equal(of, &config);
    assert_string_equal(how->cluster, "test");
    assert_false(how->waits || how->has_left);
    n_reaped++;
    return left_by ? hm_fail(why, left_by, "hybridmem:test:7.0.0 is left: no wipe") : 0;
}

/* The entries here have no namespaces. */
int hm_namespaces_remove(const struct hm_config *of, struct hm_job *what, bool waits, struct hm_error *why)
{
    (void)of, (void)waits, (void)why;
    assert_false(what->namespaces.is_begun);
    return 0;
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *why)
{
    snprintf(drained, sizeof(drained), "%s: %s", node, reason);
    return can_drain ? 0 : hm_fail(why, EIO, "no slurmctld");
}

bool hm_unread_is_living(const struct hm_config *of, const char *cgroups, uint32_t job_id, unsigned grace_s)
{
    assert_ptr_equal(of, &config);
    assert_string_equal(cgroups, "/sys/fs/cgroup");
    assert_int_equal(job_id, 7);
    sought_grace_s = grace_s;
    int lock = open(scratch_path("run/jobs/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0); /* the lock is free, so that others need not wait */
    close(lock);
    if (is_used_again)
        assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    return is_living;
}

const char *hm_monitor_program(void)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/monitor", scratch);
    return path;
}

int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error)
{
    (void)error;
    *uid = monitors;
    *gid = getegid();
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    monitors = geteuid();
    ledger_with_job(&config, &job);
    left_by = n_reaped = 0;
    can_drain = true;
    is_living = true;
    is_used_again = false;
    drained[0] = '\0';
    return 0;
}

static void reap(const char *node, bool is_config_known)
{
    const struct hm_reap how = {
        .grace_s = 60, .node = node, .is_config_known = is_config_known, .namespaces = {.cluster = "test"}};
    struct hm_error left = {0};
    assert_false(hm_reap(&config, &how, &left));
}

static void what_cannot_be_removed_drains_the_node(void **state)
{
    (void)state;
    left_by = ENOTRECOVERABLE;
    for (int i = 0; i < 2; i++) { /* if the drain failed, the next reap tries it again */
        can_drain = i > 0;
        drained[0] = '\0';
        reap("n9", true);
        assert_string_equal(drained, "n9: hybridmem: persistent memory of no job was not given back: "
                                     "hybridmem:test:7.0.0 is left: no wipe");
    }
}

static void no_other_failure_of_a_reap_drains_the_node(void **state)
{
    (void)state;
    static const int numbers[] = {0, ETIME, EIO, ENOENT, ENOMEM, ETIMEDOUT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        left_by = numbers[i];
        reap("n9", true);
        assert_string_equal(drained, "");
    }
    assert_int_equal(n_reaped, (int)(sizeof(numbers) / sizeof(numbers[0])));
    /* Without the node's name nothing is drained. If the configuration cannot be read, nothing is looked for. */
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(set_up(state), 0);
        int64_t real_ns = hm_now_ns() - rows[i].real_age_s * 1000000000;
        uint64_t boot_ns = hm_clock_ns(CLOCK_BOOTTIME) - rows[i].age_s * 1000000000;
        leave_dead(real_ns, boot_ns);
        reap(NULL, true);
        assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), rows[i].is_kept ? 0 : -1);
    }
    /* an entry of an earlier version has no such age yet */
    assert_int_equal(set_up(state), 0);
    leave_dead(1, 0);
    reap(NULL, true);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns == 1 && job.dead_boot_ns > 0);
}

/* A job has no process for a moment between two steps, and then again: each time its grace is whole. */
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

/* Makes a program that reap takes for a monitor. */
static void make_monitor(void)
{
    char cp[] = "cp", from[] = "/bin/sleep", program[256];
    snprintf(program, sizeof(program), "%s", hm_monitor_program());
    char *copy[] = {cp, from, program, NULL}, *none[] = {NULL};
    const struct hm_spawn spawn = {
        .path = "/bin/cp", .arguments = copy, .environment = none, .extra = -1, .errors = -1};
    assert_int_equal(hm_spawn_wait_for(hm_spawn_start(&spawn, NULL), 60000), 0);
}

static pid_t start_made_monitor(void)
{
    char program[256], seconds[] = "1000";
    snprintf(program, sizeof(program), "%s", hm_monitor_program());
    char *arguments[] = {program, seconds, NULL}, *none[] = {NULL};
    const struct hm_spawn spawn = {
        .path = program, .arguments = arguments, .environment = none, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, NULL);
    assert_true(pid > 0);
    return pid;
}

static pid_t start_monitor(void)
{
    make_monitor();
    return start_made_monitor();
}

/* A monitor that no entry names is ended, but not while a step may be about to name it. */
static void a_monitor_that_is_just_started_stays(void **state)
{
    (void)state;
    int status;
    pid_t monitor = start_monitor();
    assert_int_equal(hm_process_identify(getpid(), &job.monitor_starter), 0);
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap("n9", true);
    assert_int_equal(waitpid(monitor, &status, WNOHANG), 0);
    job.monitor_starter.start_time++; /* that step has died */
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap("n9", true);
    assert_int_equal(waitpid(monitor, &status, 0), monitor);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static int execute_monitor(void *data)
{
    execl(data, data, "1000", NULL);
    return 1;
}

/* A user's own process is left alone, whatever it runs: ending it would take time, and the place of a real monitor. */
static void a_users_process_is_no_monitor(void **state)
{
    (void)state;
    int status;
    char program[256], link[64], path[64];
    pid_t monitor = start_monitor();
    snprintf(program, sizeof(program), "%s", hm_monitor_program());
    if (geteuid() == 0) { /* root's would be taken for a monitor */
        const struct hm_spawn_call call = {
            .run = execute_monitor, .data = program, .kept = -1, .drop = true, .uid = 4242, .gid = 4242};
        kill(monitor, SIGKILL);
        assert_int_equal(waitpid(monitor, &status, 0), monitor);
        assert_int_equal(chmod(scratch, 0711), 0);
        assert_int_equal(chmod(program, 0755), 0);
        monitor = hm_spawn_call(&call, NULL);
        assert_true(monitor > 0);
    }
    monitors = 4243;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)monitor);
    do
        memset(link, 0, sizeof(link));
    while (readlink(path, link, sizeof(link) - 1) > 0 && strncmp(link, program, strlen(program)) != 0);
    reap("n9", true);
    assert_int_equal(waitpid(monitor, &status, WNOHANG), 0);
    kill(monitor, SIGKILL);
    assert_int_equal(waitpid(monitor, &status, 0), monitor);
}

/* How often a reap reads entries while `n` processes look like monitors. */
static int reads_beside(int n)
{
    pid_t monitor[8];
    int status;
    for (int i = 0; i < n; i++)
        monitor[i] = start_made_monitor();
    n_reads = 0;
    reap("n9", true);
    int reads = n_reads;
    for (int i = 0; i < n; i++) {
        kill(monitor[i], SIGKILL);
        assert_int_equal(waitpid(monitor[i], &status, 0), monitor[i]);
    }
    return reads;
}

/* Entries are read with the lock. A user can start any number of such processes, and others wait for the lock. */
static void processes_of_users_do_not_prolong_the_lock(void **state)
{
    (void)state;
    make_monitor();
    assert_int_equal(reads_beside(8), reads_beside(1));
}

/* Nor do the files of a user's many steps. */
static void files_of_many_steps_do_not_prolong_the_lock(void **state)
{
    (void)state;
    n_reads = 0;
    reap("n9", true);
    int before = n_reads;
    for (int step = 0; step < 8; step++)
        scratch_write(scratch_path("run/jobs/7.%d.migration", step), "");
    n_reads = 0;
    reap("n9", true);
    assert_int_equal(n_reads, before);
    assert_int_equal(access(scratch_path("run/jobs/7.0.migration"), F_OK), 0);
}

/* Without a cgroup in the entry the job is looked for. If it is not found, it is dead, and has its grace as others. */
static void a_job_without_a_cgroup_is_looked_for(void **state)
{
    (void)state;
    static const unsigned graces_s[][2] = {{0, 600}, {600, 600}, {601, 601}}; /* configured, and used */
    for (size_t i = 0; i < sizeof(graces_s) / sizeof(graces_s[0]); i++) {
        config.reap_grace_s = graces_s[i][0];
        reap(NULL, true);
        assert_int_equal(sought_grace_s, graces_s[i][1]);
    }
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    assert_true(job.dead_ns == 0);

    is_living = false;
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
    assert_false(hm_job_is_living(&job));

    sought_grace_s = 0;
    job.dead_boot_ns -= UINT64_C(61) * 1000000000;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap(NULL, true);
    assert_int_equal(sought_grace_s, 0); /* its end is noted, and nobody looks again */
    assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_cannot_be_removed_drains_the_node, set_up),
        cmocka_unit_test_setup(no_other_failure_of_a_reap_drains_the_node, set_up),
        cmocka_unit_test_setup(a_dead_jobs_grace_is_no_matter_of_the_clock_of_the_day, set_up),
        cmocka_unit_test_setup(a_job_that_was_taken_for_dead_lives_again, set_up),
        cmocka_unit_test_setup(an_entry_that_cannot_be_read_stays_while_its_job_may_live, set_up),
        cmocka_unit_test_setup(a_monitor_that_is_just_started_stays, set_up),
        cmocka_unit_test_setup(a_users_process_is_no_monitor, set_up),
        cmocka_unit_test_setup(processes_of_users_do_not_prolong_the_lock, set_up),
        cmocka_unit_test_setup(files_of_many_steps_do_not_prolong_the_lock, set_up),
        cmocka_unit_test_setup(a_job_without_a_cgroup_is_looked_for, set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
