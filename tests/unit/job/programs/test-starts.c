/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the start of a job's monitor and of a step's migrator: without the ledger's lock, and with what may happen to
 * the job meanwhile. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/look.h"
#include "base/process.h"
#include "base/spawn.h"
#include "job/programs/damonstart.h"
#include "job/programs/migrator.h"
#include "job/programs/monitor.h"
#include "job/step/parts.h"
#include "meter/monitor/samples.h"
#include "migrator/figures/progress.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define STEP 3

enum meanwhile { NOTHING, IS_CLAIMED, IS_REMOVED, IS_NEW_RUN, IS_COLLECTED, FAILS };

static struct hm_error error;
static struct hm_config config;
static struct hm_job job, now;
static enum meanwhile meanwhile;
static struct hm_process starter; /* the starter that the entry named while the program was started */
static pid_t started;
static int aside;   /* calls of hm_aside_begin less hm_aside_end; 1: this process is out of the job's memory cgroup */
static int urgent;  /* calls of hm_urgent_begin less hm_urgent_end; 1: it has priority over the job's processes */
static int brokers; /* starts of the broker */
static const char *paranoid = "2"; /* kernel.perf_event_paranoid */
static int n_files;                /* files of figures that were made for a program */

/* What others do to the job while the program is started. */
static void change(void)
{
    assert_int_equal(hm_ledger_read(&config, 7, &now, &error), 0);
    starter = now.migrator[0].starter.pid ? now.migrator[0].starter : now.monitor_starter;
    if (meanwhile == IS_CLAIMED)
        now.finisher.pid = 1;
    if (meanwhile == IS_NEW_RUN)
        now.start_ns++;
    if (meanwhile == IS_COLLECTED)
        assert_int_equal(hm_migrator_collect_all(&config, &now, &error), 0);
    assert_int_equal(hm_ledger_write(&config, &now, &error), 0);
    if (meanwhile == IS_REMOVED)
        assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
}

void __wrap_hm_aside_begin(void);
void __wrap_hm_aside_end(void);
void __wrap_hm_urgent_begin(void);
void __wrap_hm_urgent_end(void);
int __real_hm_progress_create(const char *path, uint32_t step_id, struct hm_error *why);
int __wrap_hm_progress_create(const char *path, uint32_t step_id, struct hm_error *why);
int __real_hm_samples_create(const char *path, const struct hm_tiers *tiers, uint32_t interval_ms,
                             struct hm_error *why);
int __wrap_hm_samples_create(const char *path, const struct hm_tiers *tiers, uint32_t interval_ms,
                             struct hm_error *why);

void __wrap_hm_aside_begin(void)
{
    aside++;
}

void __wrap_hm_aside_end(void)
{
    aside--;
}

void __wrap_hm_urgent_begin(void)
{
    urgent++;
}

void __wrap_hm_urgent_end(void)
{
    urgent--;
}

/* Whoever makes a job's file holds the lock of its folder, which others need. So it must wait neither for the job's
 * memory, nor for the job's processes on the same CPUs. */
int __wrap_hm_progress_create(const char *path, uint32_t step_id, struct hm_error *why)
{
    assert_true(aside == 1 && urgent == 1);
    n_files++;
    return __real_hm_progress_create(path, step_id, why);
}

int __wrap_hm_samples_create(const char *path, const struct hm_tiers *tiers, uint32_t interval_ms, struct hm_error *why)
{
    assert_true(aside == 1 && urgent == 1);
    n_files++;
    return __real_hm_samples_create(path, tiers, interval_ms, why);
}

/* Stands for the start of a program. The program is a child that only waits until it is killed. */
pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why)
{
    assert_true(aside == 0 && urgent == 0);
    int lock = hm_ledger_lock(&config, &error); /* it is free, or this test hangs for 20 s and fails */
    assert_true(lock >= 0);
    change();
    hm_ledger_unlock(lock);
    if (meanwhile == FAILS)
        return hm_fail(why, ENOENT, "cannot execute %s", spawn->path);
    started = fork();
    if (started == 0) {
        pause();
        _exit(1);
    }
    return started;
}

int hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    (void)pid;
    (void)patience_ms;
    return -1;
}

int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    (void)look, (void)question, (void)found, (void)size, (void)patience_ms;
    fail_msg("no start of a program looks at anything");
    return -1;
}

int hm_damon_ensure(const struct hm_config *of, const char *home_cgroup, struct hm_error *why)
{
    (void)of;
    (void)home_cgroup;
    (void)why;
    brokers++;
    return 0;
}

char *__wrap_hm_perf_read_paranoid(char *out, size_t size);

char *__wrap_hm_perf_read_paranoid(char *out, size_t size)
{
    snprintf(out, size, "%s", paranoid);
    return out;
}

char *hm_damon_socket_path(const struct hm_config *of, char *out, size_t size)
{
    snprintf(out, size, "%s/damon.sock", of->run_dir);
    return out;
}

int __wrap_hm_cgroup_of_self(char *out, size_t size);
int __wrap_hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *why);

int __wrap_hm_cgroup_of_self(char *out, size_t size)
{
    snprintf(out, size, "/sys/fs/cgroup/job_7/step_3/slurm");
    return 0;
}

int __wrap_hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *why)
{
    (void)name;
    (void)why;
    *uid = 4321;
    *gid = 4321;
    return 0;
}

static struct hm_step_facts facts;
static struct hm_step step;
static struct hm_preparation preparation;

static int set_up(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    started = 0;
    n_files = 0;
    meanwhile = NOTHING;
    snprintf(job.cgroup, sizeof(job.cgroup), "/sys/fs/cgroup/job_7");
    job.recorded = true;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    memset(&step, 0, sizeof(step));
    facts = (struct hm_step_facts){.job_id = 7, .step_id = STEP, .uid = getuid(), .gid = getgid()};
    step.config = config;
    step.job_id = 7;
    step.step_id = STEP;
    step.tiers.n_tiers = 1;
    snprintf(step.tiers.tier[0].name, sizeof(step.tiers.tier[0].name), "dram");
    preparation = (struct hm_preparation){
        .facts = &facts, .step = &step, .job = &job, .has_ledger = true, .migration = {.keys.source = "perf"}};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (started > 0 && kill(started, SIGKILL) == 0)
        waitpid(started, NULL, 0);
    return 0;
}

static bool runs(void)
{
    struct hm_process process;
    return started > 0 && hm_process_identify(started, &process) == 0 && hm_process_is_running(&process);
}

static int begin_and_watch(void)
{
    hm_step_begin_watch(&preparation);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    return preparation.must_start_monitor ? hm_step_watch(&preparation, &error) : 1;
}

static void reread(void)
{
    assert_int_equal(hm_ledger_read(&config, 7, &now, &error), 0);
}

/* If the entry names the program, it runs. Otherwise it does not: if it was started, it was ended again, as nobody else
 * would end it later. */
static const struct {
    enum meanwhile meanwhile;
    int result;
    bool runs;
    const char *text; /* part of the error, or of the warning if there is no error */
} rows[] = {
    {NOTHING, 0, true, ""},
    {IS_CLAIMED, -1, false, "job 7 has ended meanwhile: "},
    {IS_NEW_RUN, -1, false, "job 7 has ended meanwhile: "},
    {IS_REMOVED, -1, false, "not in the node's ledger"},
    {IS_COLLECTED, 0, true, ""},
    {FAILS, 0, false, "cannot execute"},
};

static void check(int result, size_t row, const char *what)
{
    if (result != rows[row].result || runs() != rows[row].runs || starter.pid != getpid())
        fail_msg("%s, row %zu: %d, runs %d, starter %d: %s %s", what, row, result, runs(), starter.pid, error.text,
                 now.warning[0]);
    assert_int_equal(n_files, 1);
    assert_true(aside == 0 && urgent == 0);
    if (result != 0)
        assert_non_null(strstr(error.text, rows[row].text));
    if (rows[row].meanwhile == FAILS)
        assert_non_null(strstr(now.warning[0], rows[row].text));
}

static void test_a_migrator_is_started_without_the_lock(void **state)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(set_up(state), 0);
        meanwhile = rows[i].meanwhile;
        int result = hm_step_migrate(&preparation, &error);
        bool is_there = hm_ledger_read(&config, 7, &now, NULL) == 0;
        check(result, i, "migrator");
        assert_int_equal(step.migrator.pid, rows[i].runs ? started : 0);
        assert_int_equal(is_there, meanwhile != IS_REMOVED);
        assert_int_equal(is_there ? now.migrator[0].process.pid : 0, rows[i].runs ? started : 0);
        if (meanwhile != IS_NEW_RUN) /* the places of a new run are its own */
            assert_int_equal(is_there ? now.migrator[0].starter.pid : 0, 0);
        if (!rows[i].runs)
            assert_false(hm_migrator_has_left(&config, 7, STEP));
        tear_down(state);
    }
}

static void test_a_monitor_is_started_without_the_lock(void **state)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(set_up(state), 0);
        meanwhile = rows[i].meanwhile;
        int result = begin_and_watch();
        bool is_there = hm_ledger_read(&config, 7, &now, NULL) == 0;
        check(result, i, "monitor");
        assert_int_equal(is_there ? now.monitor.pid : 0, rows[i].runs ? started : 0);
        if (rows[i].result == 0)
            assert_int_equal(now.monitor_starter.pid, 0);
        tear_down(state);
    }
}

/* The broker is started for samples where users may open no events: for recorders that guide, if the site lends some;
 * for others also for DAMON, which few tasks may look by. */
static void test_a_broker_is_started_where_recorders_need_it(void **state)
{
    (void)state;
    static const struct {
        const char *paranoid;
        bool lends, guides;
        uint32_t n_tasks;
        int brokers;
    } lending[] = {{"3", true, true, 1, 1},   {"4", true, true, 1, 1},  {"2", true, true, 1, 0},
                   {"-1", true, true, 1, 0},  {"", true, true, 1, 0},   {"3", false, true, 1, 0},
                   {"3", false, false, 1, 1}, {"3", true, false, 1, 1}, {"2", false, false, 1, 0},
                   {"3", false, false, 5, 0}, {"3", true, false, 5, 1}};
    for (size_t i = 0; i < N_ROWS(lending); i++) {
        paranoid = lending[i].paranoid;
        step.config.lend_samples = lending[i].lends;
        step.request.guide.online = lending[i].guides;
        step.n_tasks = lending[i].n_tasks;
        brokers = 0;
        hm_step_lend(&preparation);
        assert_int_equal(brokers, lending[i].brokers);
    }
}

/* Of two steps that begin at the same time, one starts the job's monitor. If that step has died, the next one does. */
static void test_one_step_starts_the_monitor(void **state)
{
    (void)state;
    job.monitor_starter.pid = getppid();
    assert_int_equal(hm_process_identify(getppid(), &job.monitor_starter), 0);
    assert_int_equal(begin_and_watch(), 1);
    job.monitor_starter.start_time++;
    assert_int_equal(begin_and_watch(), 0);
    assert_int_equal(begin_and_watch(), 1);
    reread();
    assert_int_equal(now.monitor.pid, started);
}

/* A place in the entry's list of migrators is its starter's until the migrator is noted. If the starter has died, the
 * next step may have the place. */
static void test_a_place_of_a_dead_starter_is_free(void **state)
{
    (void)state;
    struct hm_process process = {.pid = 4000001};
    assert_int_equal(hm_process_identify(getppid(), &job.migrator[0].starter), 0);
    job.migrator[0].step_id = 1;
    job.migrator[1] = (struct hm_step_migrator){.step_id = 2, .starter = {.pid = 4000000}};
    assert_int_equal(hm_migrator_begin(&config, &job, STEP, 0, &error), 0);
    reread();
    assert_int_equal(now.migrator[0].step_id, 1);
    assert_int_equal(now.migrator[1].step_id, STEP);
    assert_int_equal(now.migrator[1].starter.pid, getpid());
    hm_migrator_note(&config, &now, STEP, &process);
    assert_int_equal(now.migrator[1].process.pid, 4000001);
    assert_int_equal(now.migrator[1].starter.pid, 0);
    hm_migrator_note(&config, &now, STEP, NULL);
    assert_int_equal(now.migrator[1].process.pid, 0);
    assert_int_equal(now.migrator[0].starter.pid, getppid());
}

/* A migrator for which the entry has no place is not ended by the epilog: it ends with the step's tasks (--guard). */
static void test_more_migrators_than_places(void **state)
{
    (void)state;
    struct hm_process process = {.pid = 4000001};
    for (uint32_t i = 0; i < HM_JOB_MIGRATORS; i++)
        job.migrator[i] = (struct hm_step_migrator){.step_id = 100 + i, .process = {.pid = 4000000}};
    assert_int_equal(hm_migrator_begin(&config, &job, STEP, 0, &error), 0);
    hm_migrator_note(&config, &job, STEP, &process);
    for (uint32_t i = 0; i < HM_JOB_MIGRATORS; i++)
        assert_int_equal(job.migrator[i].step_id, 100 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_migrator_is_started_without_the_lock),
        cmocka_unit_test(test_a_monitor_is_started_without_the_lock),
        cmocka_unit_test_setup_teardown(test_a_broker_is_started_where_recorders_need_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_step_starts_the_monitor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_place_of_a_dead_starter_is_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_migrators_than_places, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
