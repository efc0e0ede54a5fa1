/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a step's tasks: how each is placed or refused, and what the job's entry in the ledger gets when they end. */
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "fakeenvironment.h"
#include "job/step/step.h"
#include "job/step/task.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_error error;
static struct hm_config config;
static struct hm_job job;
static int n_stopped; /* migrators */
static struct hm_step *step;
static struct hm_outcome *outcome; /* of the step's tasks */

int __wrap_hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *why);
int __real_hm_file_read(const char *path, char *out, size_t size, struct hm_error *why);
int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *why);

/* A user can slow down whoever reads their job's cgroup. So it is not read while we have the ledger's lock. */
int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *why)
{
    if (strstr(path, "/memory.peak"))
        assert_int_equal(hm_heldlock_check("a look at a cgroup", NULL), 0);
    return __real_hm_file_read(path, out, size, why);
}

/* A user can make their migrator end late. Nobody waits for the ledger's lock meanwhile. */
int __wrap_hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *why)
{
    (void)process, (void)patience_ms, (void)why;
    int lock = open(scratch_path("run/jobs/lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    close(lock);
    n_stopped++;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    outcome = hm_outcome_map();
    step = calloc(1, sizeof(*step));
    return step && outcome ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(step);
    hm_outcome_unmap(outcome);
    return 0;
}

/* Begins a step of job 7, which is in the ledger, with so many tasks. */
static void begin_step(uint32_t n_tasks)
{
    ledger_with_job(&config, &job);
    memset(step, 0, sizeof(*step));
    memset(outcome, 0, sizeof(*outcome));
    step->config = config;
    step->job_id = 7;
    step->n_tasks = n_tasks;
}

/* Ends a task of the step, and reads the job's entry. */
static void end_task(int status)
{
    assert_int_equal(hm_task_ended(step, outcome, status, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
}

/* Places a task in a child. Returns what it wrote to standard error, and its result as an exit status. */
static const char *place(struct hm_outcome *shared, int *result)
{
    static char text[2048];
    int errors[2];
    size_t have = 0;
    ssize_t got;
    assert_int_equal(pipe(errors), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(errors[1], STDERR_FILENO);
        _exit(hm_task_place(step, shared, fake_environment()) == 0 ? 0 : 1);
    }
    close(errors[1]);
    while ((got = read(errors[0], text + have, sizeof(text) - 1 - have)) > 0)
        have += (size_t)got;
    text[have] = '\0';
    close(errors[0]);
    assert_int_equal(waitpid(pid, result, 0), pid);
    *result = WEXITSTATUS(*result);
    return text;
}

/* Places a task, which has to write this, and to have this result. */
static void assert_place(struct hm_outcome *shared, const char *said, int result)
{
    int got;
    assert_string_equal(place(shared, &got), said);
    assert_int_equal(got, result);
}

static void test_tasks_without_a_request_are_left_alone(void **state)
{
    (void)state;
    snprintf(step->refusal, sizeof(step->refusal), "not for a step that asked for nothing");
    assert_place(NULL, "", 0);
}

/* A task of the mode memory is not planned for, let alone placed, so that a binding of its own counts. */
static void test_a_task_behind_a_cache_is_left_alone(void **state)
{
    (void)state;
    step->is_active = step->is_asked = true;
    step->request.mode = HM_MODE_MEMORY;
    assert_place(outcome, "", 0);
    assert_int_equal(outcome->n_warnings + outcome->has_plan, 0);
    snprintf(step->refusal, sizeof(step->refusal), "no cache");
    assert_place(outcome, "hybridmem: no cache\n", 1);
}

/* The batch script of an isolate job passes its variables on to its steps. A step without a request removes them. */
static void test_what_another_step_set_is_taken_back(void **state)
{
    (void)state;
    fake_environment_clear();
    fake_environment_put("HYBRIDMEM_ISOLATE_JOB", "7");
    fake_environment_put("HYBRIDMEM_ISOLATE_NODES", "slow=1@0");
    /* hybridmem is switched off: nothing is changed */
    assert_int_equal(hm_task_place(step, NULL, fake_environment()), 0);
    assert_non_null(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"));
    step->config.enabled = true;
    assert_int_equal(hm_task_place(step, NULL, fake_environment()), 0);
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"));
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_JOB"));
}

static void test_a_refusal_is_one_line_for_all_tasks(void **state)
{
    (void)state;
    step->is_active = step->is_asked = true;
    snprintf(step->refusal, sizeof(step->refusal), "no such tier %%n");
    assert_place(outcome, "hybridmem: no such tier %n\n", 1);
    assert_place(outcome, "", 1);
    /* Without shared memory each task reports it. */
    assert_place(NULL, "hybridmem: no such tier %n\n", 1);
}

/* The mode fsdax places no memory. If a file system cannot be mounted, the task ends, whatever its step asked for. */
static void test_file_systems(void **state)
{
    (void)state;
    int result;
    hm_config_defaults(&step->config);
    assert_int_equal(hm_request_parse("fsdax,size=1G", &step->request, &error), 0);
    step->is_active = step->is_asked = true;
    hm_task_mount(step);
    assert_place(outcome, "", 0);
    assert_int_equal(outcome->has_plan, 0);
    /* The device does not exist, or may not be mounted. */
    step->namespaces.n = 1;
    step->namespaces.each[0] = (struct hm_job_namespace){.device = "/dev/pmem99", .fs = "ext4"};
    step->is_active = false;
    pid_t child = fork();
    if (child == 0) {
        hm_task_mount(step);
        _exit(strstr(step->mount_error, "DAX file systems") || strstr(step->mount_error, "/dev/pmem99") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    snprintf(step->mount_error, sizeof(step->mount_error), "it is not there");
    assert_place(outcome, "hybridmem: it is not there\n", 1);
}

static void test_a_task_that_cannot_be_placed(void **state)
{
    (void)state;
    int result;
    hm_config_defaults(&step->config);
    assert_int_equal(hm_request_parse("slow", &step->request, &error), 0);
    step->is_active = true;
    /* Without tiers, a default mode is skipped, and one that was asked for is refused. */
    assert_place(outcome, "", 0);
    assert_int_equal(outcome->n_warnings, 1);
    assert_non_null(strstr(outcome->warning[0], "default mode"));
    step->is_asked = true;
    outcome->said_refusal = 0;
    assert_non_null(strstr(place(outcome, &result), "hybridmem: "));
    assert_int_equal(result, 1);
    assert_int_equal(outcome->n_warnings, 2);
}

/* Wait statuses in the order in which tasks end, and the entry's status afterwards: the highest, or the batch script's.
 */
static const struct {
    uint32_t step_id;
    int status[4]; /* -1: end of the list */
    int then;
    bool is_final;
} endings[] = {
    {0, {0, 0, -1}, 0, false},         {0, {0, 256, 0, -1}, 256, false},  {0, {512, 256, -1}, 512, false},
    {HM_STEP_BATCH, {9, -1}, 9, true}, {HM_STEP_BATCH, {0, -1}, 0, true},
};

static void test_exit_statuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(endings); i++) {
        begin_step(3);
        step->step_id = endings[i].step_id;
        for (const int *status = endings[i].status; *status >= 0; status++)
            end_task(*status);
        assert_true(job.has_exit_status);
        assert_int_equal(job.exit_status, endings[i].then);
        assert_int_equal(job.exit_status_is_final, endings[i].is_final);
        /* A later step does not change the batch script's status. */
        step->step_id = 1;
        outcome->n_stored = 0;
        end_task(15 << 8);
        assert_int_equal(job.exit_status, endings[i].is_final ? endings[i].then : 15 << 8);
    }
}

static void test_the_last_task_notes_the_kernels_peak(void **state)
{
    (void)state;
    begin_step(2);
    snprintf(step->cgroup, sizeof(step->cgroup), "%s", scratch);
    static const struct {
        const char *text;
        uint64_t then;
    } rows[] = {{"100\n", 0}, {"300\n", 300}, {"200\n", 300}, {"nonsense\n", 300}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        scratch_write(scratch_path("memory.peak"), rows[i].text);
        end_task(0);
        assert_int_equal(job.memory_peak, rows[i].then);
    }
}

static void test_the_last_task_stops_the_migrator_without_the_lock(void **state)
{
    (void)state;
    begin_step(2);
    n_stopped = 0;
    assert_int_equal(hm_task_ended(step, outcome, 0, &error), 0);
    assert_int_equal(n_stopped, 0);
    assert_int_equal(hm_task_ended(step, outcome, 0, &error), 0);
    assert_int_equal(n_stopped, 1);
}

int __real_hm_ledger_lock(const struct hm_config *of, struct hm_error *why);
int __wrap_hm_ledger_lock(const struct hm_config *of, struct hm_error *why);
static int n_refused; /* more calls of hm_ledger_lock get no lock */

int __wrap_hm_ledger_lock(const struct hm_config *of, struct hm_error *why)
{
    if (n_refused == 0)
        return __real_hm_ledger_lock(of, why);
    n_refused--;
    return hm_fail(why, ETIMEDOUT, "others have the lock");
}

/* Each wait for the lock takes 20 s, and tasks end one after the other. */
static void test_one_task_and_the_last_one_wait_for_a_lock_that_cannot_be_had(void **state)
{
    (void)state;
    begin_step(4);
    n_refused = 1;
    assert_int_equal(hm_task_ended(step, outcome, 256, &error), -1);
    n_refused = 2;
    assert_int_equal(hm_task_ended(step, outcome, 512, &error), 0);
    assert_int_equal(hm_task_ended(step, outcome, 0, &error), 0);
    assert_int_equal(n_refused, 2);
    n_refused = 0;
    end_task(0);
    assert_int_equal(job.exit_status, 512);
}

static void test_what_tasks_leave_is_checked(void **state)
{
    (void)state;
    begin_step(0);
    snprintf(job.request, sizeof(job.request), "spill");
    job.has_plan = true;
    snprintf(job.plan.request.text, sizeof(job.plan.request.text), "spill");
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    snprintf(step->request.text, sizeof(step->request.text), "spill");
    memset(outcome, 0xff, sizeof(*outcome));
    outcome->has_plan = 1;
    outcome->n_stored = 0;
    end_task(0);
    assert_int_equal(job.n_warnings, 0);
    assert_int_equal(job.plan.policy, HM_POLICY_DEFAULT);

    memset(outcome, 0, sizeof(*outcome));
    outcome->has_plan = outcome->n_warnings = 1;
    outcome->plan.policy = HM_POLICY_BIND;
    snprintf(outcome->warning[0], HM_WARNING, "a word");
    end_task(0);
    assert_string_equal(job.warning[0], "a word");
    assert_int_equal(job.plan.policy, HM_POLICY_BIND);
}

/* Makes a sysfs with one device. `namespace` and `label` are the texts of its files; NULL: the file does not exist. */
static void set_up_device(const char *device, const char *namespace, const char *label)
{
    assert_int_equal(scratch_remove(scratch_path("sys")), 0);
    const char *folders[] = {"", "/class", "/class/block", "/bus", "/bus/nd", "/bus/nd/devices"};
    for (size_t i = 0; i < N_ROWS(folders); i++)
        assert_int_equal(mkdir(scratch_path("sys%s", folders[i]), 0755), 0);
    assert_int_equal(mkdir(scratch_path("sys/class/block/%s", device), 0755), 0);
    /* as in sysfs, by a symbolic link */
    assert_int_equal(mkdir(scratch_path("sys/pfn0.1"), 0755), 0);
    assert_int_equal(symlink("../../../pfn0.1", scratch_path("sys/class/block/%s/device", device)), 0);
    if (namespace)
        scratch_write(scratch_path("sys/pfn0.1/namespace"), namespace);
    assert_int_equal(mkdir(scratch_path("sys/bus/nd/devices/namespace0.2"), 0755), 0);
    if (label)
        scratch_write(scratch_path("sys/bus/nd/devices/namespace0.2/alt_name"), label);
}

static void test_a_device_is_looked_at_before_it_is_mounted(void **state)
{
    (void)state;
    static const struct {
        const char *device, *namespace, *label, *said;
    } rows[] = {
        {"pmem0.1", "namespace0.2\n", "hybridmem:test:7.0.0\n", NULL},
        {"pmem0.1", "namespace0.2\n", "hybridmem:test:7.1.0\n",
         "/dev/pmem0.1 is on \"hybridmem:test:7.1.0\" now, not on hybridmem:test:7.0.0: "},
        {"pmem0.1", "namespace0.2\n", "hybridmem:test:7.0.00\n", "/dev/pmem0.1 is on \"hybridmem:test:7.0.00\" now"},
        {"pmem0.1", "namespace0.2\n", "\n", "/dev/pmem0.1 is on \"\" now"},
        {"pmem0.1", "namespace0.2\n", NULL, "it cannot be told whether /dev/pmem0.1 is still on hybridmem:test:7.0.0"},
        {"pmem0.1", "namespace0.3\n", "hybridmem:test:7.0.0\n", "/bus/nd/devices/namespace0.3/alt_name: No such file"},
        {"pmem0.1", "\n", "hybridmem:test:7.0.0\n", "it cannot be told"},
        {"pmem0.1", NULL, "hybridmem:test:7.0.0\n", "/class/block/pmem0.1/device/namespace: No such file"},
        {"pmem0", "namespace0.2\n", "hybridmem:test:7.0.0\n", "/class/block/pmem0.1/device/namespace: No such file"},
    };
    struct hm_job_namespace one = {.name = "hybridmem:test:7.0.0", .device = "/dev/pmem0.1", .fs = "ext4"};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        set_up_device(rows[i].device, rows[i].namespace, rows[i].label);
        error.text[0] = '\0';
        int result = hm_dax_check_device(scratch_path("sys"), &one, &error);
        if (result != (rows[i].said ? -1 : 0) || (rows[i].said && !strstr(error.text, rows[i].said)))
            fail_msg("row %zu: %d \"%s\"", i, result, error.text);
    }
    /* the longest possible name */
    memset(one.name, 'x', sizeof(one.name) - 1);
    char label[sizeof(one.name) + 1];
    snprintf(label, sizeof(label), "%s\n", one.name);
    set_up_device("pmem0.1", "namespace0.2\n", label);
    assert_int_equal(hm_dax_check_device(scratch_path("sys"), &one, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tasks_without_a_request_are_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_task_behind_a_cache_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_another_step_set_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_refusal_is_one_line_for_all_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_task_that_cannot_be_placed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_systems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exit_statuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_task_notes_the_kernels_peak, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_task_stops_the_migrator_without_the_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_task_and_the_last_one_wait_for_a_lock_that_cannot_be_had, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_tasks_leave_is_checked, set_up, tear_down),
        cmocka_unit_test(test_a_device_is_looked_at_before_it_is_mounted),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
