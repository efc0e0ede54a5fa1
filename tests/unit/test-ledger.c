/* SPDX-License-Identifier: Apache-2.0 */
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

#include "helpers/job/entry.h"
#include "helpers/job/ledger.h"
#include "helpers/job/living.h"
#include "scratch.h"

static struct hm_config config;
static struct hm_error error;
static char root[] = "/tmp/hm-ledger.XXXXXX";
static struct hm_job job;

static char *in_jobs(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/run/jobs/%s", root, name);
    return path;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A fresh ledger with one entry, of job 7. */
static int fresh(void **state)
{
    (void)state;
    hm_config_defaults(&config);
    snprintf(config.run_dir, sizeof(config.run_dir), "%s/run", root);
    assert_int_equal(scratch_remove(config.run_dir), 0);
    hm_job_init(&job, 7);
    error.text[0] = '\0';
    return hm_ledger_write(&config, &job, &error);
}

struct bad_entry {
    const char *name;
    size_t offset;
    unsigned char value;
    unsigned length;
};

static void test_bad_contents_are_refused(void **state)
{
    (void)state;
    static const struct bad_entry bad[] = {
        {"version", offsetof(struct hm_job, magic), 0xff, 4},
        {"version", offsetof(struct hm_job, version), 0xff, 4},
        {"version", offsetof(struct hm_job, bytes), 0, 4},
        {"names", offsetof(struct hm_job, user), 'x', sizeof(job.user)},
        {"names", offsetof(struct hm_job, node), 'x', sizeof(job.node)},
        {"request", offsetof(struct hm_job, request), 'x', sizeof(job.request)},
        {"request", offsetof(struct hm_job, refusal), 'x', sizeof(job.refusal)},
        {"request", offsetof(struct hm_job, request_is_default), 2, 1},
        {"cgroup", offsetof(struct hm_job, cgroup), 'x', sizeof(job.cgroup)},
        {"cgroup", offsetof(struct hm_job, boot_id), 'x', sizeof(job.boot_id)},
        {"flags", offsetof(struct hm_job, recorded), 0xff, 1},
        {"flags", offsetof(struct hm_job, has_plan), 0xff, 1},
        {"changes", offsetof(struct hm_job, n_changes), 0xff, 4},
        {"warnings", offsetof(struct hm_job, n_warnings), 0xff, 4},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        fresh(NULL);
        memset((char *)&job + bad[i].offset, bad[i].value, bad[i].length);
        assert_int_equal(hm_entry_check(&job, &error), -1);
        assert_int_equal(errno, EBADMSG);
        assert_non_null(strstr(error.text, bad[i].name));
    }
}

static void test_bad_plans_are_named(void **state)
{
    (void)state;
    static const struct bad_entry bad[] = {
        {"request", offsetof(struct hm_plan, request.mode), 0xff, 4},
        {"request", offsetof(struct hm_plan, request.text), 'x', HM_REQUEST_TEXT},
        {"policy", offsetof(struct hm_plan, policy), 0xff, 4},
        {"weights", offsetof(struct hm_plan, has_weights), 3, 1},
        {"reason", offsetof(struct hm_plan, reason), 'x', sizeof(job.plan.reason)},
        {"warnings", offsetof(struct hm_plan, n_warnings), 0xff, 4},
    };
    assert_null(hm_entry_bad_plan(&job.plan));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct hm_plan plan = {0};
        memset((char *)&plan + bad[i].offset, bad[i].value, bad[i].length);
        assert_string_equal(hm_entry_bad_plan(&plan), bad[i].name);
    }
    /* A bad plan spoils the entry only where the entry says that it has one. */
    job.plan.policy = (enum hm_policy)99;
    assert_int_equal(hm_entry_check(&job, &error), 0);
    job.has_plan = true;
    assert_int_equal(hm_entry_check(&job, &error), -1);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), -1);
    assert_int_equal(errno, ENOENT);

    write_text(in_jobs("8"), "short");
    chmod(in_jobs("8"), 0600);
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), -1);
    assert_int_equal(errno, EBADMSG);

    assert_int_equal(chmod(in_jobs("7"), 0640), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(chmod(in_jobs("7"), 0600), 0);

    /* Another job's entry under this name. */
    char seven[256];
    snprintf(seven, sizeof(seven), "%s", in_jobs("7"));
    assert_int_equal(link(seven, in_jobs("9")), 0);
    assert_int_equal(hm_ledger_read(&config, 9, &job, &error), -1);
    assert_int_equal(errno, EBADMSG);

    assert_int_equal(symlink(seven, in_jobs("10")), 0);
    assert_int_equal(hm_ledger_read(&config, 10, &job, &error), -1);
    assert_int_equal(errno, ELOOP);
}

static void test_folders_that_others_may_write_are_refused(void **state)
{
    (void)state;
    assert_int_equal(chmod(in_jobs(""), 0722), 0);
    assert_int_equal(hm_ledger_lock(&config, &error), -1);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(error.text, "jobs"));
    assert_int_equal(chmod(in_jobs(""), 0700), 0);
    assert_int_equal(chmod(config.run_dir, 0777), 0);
    assert_int_equal(hm_ledger_write(&config, &job, &error), -1);
    assert_int_equal(errno, EPERM);
}

static void test_modes_do_not_follow_the_umask(void **state)
{
    (void)state;
    struct stat status;
    mode_t before = umask(0);
    fresh(NULL);
    umask(077);
    assert_int_equal(stat(config.run_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    assert_int_equal(stat(in_jobs("7"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    fresh(NULL);
    umask(before);
    assert_int_equal(stat(config.run_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    assert_int_equal(stat(in_jobs(""), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_entries_come_back_and_go(void **state)
{
    (void)state;
    uint32_t *ids = NULL;
    static struct hm_job other;
    char samples[320];
    snprintf(job.user, sizeof(job.user), "alice");
    job.array_job_id = 5;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &other, &error), 0);
    assert_memory_equal(&job, &other, sizeof(job));
    job.job_id = 4294967293u;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    write_text(in_jobs("7x"), "");
    write_text(hm_ledger_samples_path(&config, 7, samples, sizeof(samples)), "");

    assert_int_equal(hm_ledger_list(&config, &ids, &error), 2);
    assert_true((ids[0] == 7 && ids[1] == 4294967293u) || (ids[1] == 7 && ids[0] == 4294967293u));
    free(ids);

    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0); /* again, as after a crash */
    assert_int_equal(access(samples, F_OK), -1);
    assert_int_equal(hm_ledger_read(&config, 7, &other, &error), -1);
    assert_int_equal(errno, ENOENT);
}

static bool is_locked(void)
{
    int fd = open(in_jobs("lock"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    assert_true(!locked || errno == EWOULDBLOCK);
    close(fd);
    return locked;
}

static void test_the_lock_holds_and_ends(void **state)
{
    (void)state;
    int hold[2], status;
    int lock = hm_ledger_lock(&config, &error);
    assert_true(lock >= 0);
    assert_true(is_locked());
    /* A child that has a copy of the descriptor does not keep the lock. */
    assert_int_equal(pipe(hold), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char end;
        close(hold[1]);
        _exit(read(hold[0], &end, 1) < 0);
    }
    hm_ledger_unlock(lock);
    assert_false(is_locked());
    close(hold[1]);
    close(hold[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);

    /* Nor does a holder that died. */
    pid = fork();
    if (pid == 0)
        _exit(hm_ledger_lock(&config, NULL) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(is_locked());
    hm_ledger_unlock(-1); /* nothing */
}

/* A cgroup as the kernel shows it. */
static void set_cgroup(struct hm_job *of, const char *populated)
{
    char path[320];
    snprintf(of->cgroup, sizeof(of->cgroup), "%s/cgroup", root);
    mkdir(of->cgroup, 0755);
    snprintf(path, sizeof(path), "%s/cgroup.events", of->cgroup);
    snprintf(error.text, sizeof(error.text), "populated %s\nfrozen 0\n", populated);
    write_text(path, error.text);
}

static void test_who_lives(void **state)
{
    (void)state;
    assert_true(hm_job_is_living(&job)); /* no step yet */
    set_cgroup(&job, "1");
    assert_true(hm_job_is_living(&job));
    set_cgroup(&job, "0");
    assert_false(hm_job_is_living(&job));
    set_cgroup(&job, "1");
    snprintf(job.boot_id, sizeof(job.boot_id), "another boot");
    assert_false(hm_job_is_living(&job));
    hm_job_init(&job, 7);
    snprintf(job.cgroup, sizeof(job.cgroup), "%s/removed", root);
    assert_false(hm_job_is_living(&job));
}

static void test_alone(void **state)
{
    (void)state;
    struct hm_set all;
    assert_int_equal(hm_set_parse(&all, "0-3", NULL), 0);
    assert_false(hm_ledger_is_alone(&config, &job, &all)); /* cores not known */
    job.has_cores = true;
    assert_int_equal(hm_set_parse(&job.cores, "0-2", NULL), 0);
    assert_false(hm_ledger_is_alone(&config, &job, &all));
    assert_int_equal(hm_set_parse(&job.cores, "0-3", NULL), 0);
    assert_true(hm_ledger_is_alone(&config, &job, &all));

    static struct hm_job other;
    hm_job_init(&other, 8);
    assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
    assert_false(hm_ledger_is_alone(&config, &job, &all));
    snprintf(other.cgroup, sizeof(other.cgroup), "%s/removed", root);
    assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
    assert_true(hm_ledger_is_alone(&config, &job, &all));
    write_text(in_jobs("9"), "an entry that nobody can read");
    assert_false(hm_ledger_is_alone(&config, &job, &all));
}

static void test_warnings_and_steps_have_room_and_no_doubles(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * HM_JOB_WARNINGS; i++) {
        hm_job_warn(&job, "warning %d", i % HM_JOB_WARNINGS);
        hm_job_warn(&job, "warning %d", i % HM_JOB_WARNINGS);
    }
    hm_job_warn(&job, "one too many");
    assert_int_equal(job.n_warnings, HM_JOB_WARNINGS);
    assert_string_equal(job.warning[HM_JOB_WARNINGS - 1], "warning 15");
    for (uint32_t i = 0; i < HM_JOB_STEPS + 5; i++)
        hm_job_add_step(&job, i);
    hm_job_add_step(&job, 0);
    assert_int_equal(job.n_steps, HM_JOB_STEPS + 5);
    assert_int_equal(job.step[HM_JOB_STEPS - 1], HM_JOB_STEPS - 1);
    assert_int_equal(hm_entry_check(&job, &error), 0);
}

/* Runs until SIGTERM: then it closes `holds`. With SIGTERM blocked: until `waits` is closed by all others. */
static struct hm_process start_one(bool obeys, int waits, int holds)
{
    struct hm_process process = {0};
    char byte;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(obeys ? SIG_UNBLOCK : SIG_BLOCK, &term, NULL);
        close(obeys ? waits : holds);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        if (!obeys)
            _exit(read(waits, &byte, 1) == 0 ? 42 : 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(hm_process_identify(pid, &process), 0);
    return process;
}

#define FOREVER_MS 3600000 /* the test would not end */

static void test_processes_are_told_apart(void **state)
{
    (void)state;
    struct hm_process process = {0};
    int held[2], status;
    assert_false(hm_process_is_running(&process));
    assert_int_equal(hm_process_stop(&process, FOREVER_MS, &error), 0); /* nobody is waited for */
    assert_int_equal(hm_process_identify(-1, &process), -1);
    assert_int_equal(hm_process_identify(getpid(), &process), 0);
    assert_true(hm_process_is_running(&process));
    process.start_time++;
    assert_false(hm_process_is_running(&process));
    assert_int_equal(hm_process_stop(&process, FOREVER_MS, &error), 0); /* not ours: we live on */

    assert_int_equal(pipe(held), 0);
    process = start_one(false, held[0], held[1]); /* only SIGKILL ends it: the other end stays open */
    assert_int_equal(hm_process_stop(&process, 100, &error), 0);
    assert_false(hm_process_is_running(&process)); /* a zombie does not run */
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(held[0]);
    close(held[1]);
}

/* The first ends only when the second has: it would be killed if the second were told after the first had ended. */
static void test_all_are_told_before_one_is_waited_for(void **state)
{
    (void)state;
    int held[2], status;
    struct hm_process process[HM_STOP_MOST + 1] = {{0}};
    assert_int_equal(hm_process_stop_all(process, HM_STOP_MOST + 1, 0, &error), -1);
    assert_int_equal(errno, E2BIG);
    assert_int_equal(hm_process_stop_all(process, HM_STOP_MOST, FOREVER_MS, &error), 0);
    assert_int_equal(hm_process_stop_all(process, 0, FOREVER_MS, &error), 0);
    assert_int_equal(pipe(held), 0);
    process[1] = start_one(false, held[0], held[1]);
    process[3] = start_one(true, held[0], held[1]);
    close(held[0]);
    close(held[1]);
    assert_int_equal(hm_process_stop_all(process, 4, 30000, &error), 0);
    assert_int_equal(waitpid(process[1].pid, &status, 0), process[1].pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    assert_int_equal(waitpid(process[3].pid, &status, 0), process[3].pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void test_cgroup_of_a_job(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/sys/fs/cgroup", NULL},
        {"/step_0", NULL},
        {"", NULL},
        {"/sys/fs/cgroup/slurmstepd.scope/job_5/step_0/slurm", "/sys/fs/cgroup/slurmstepd.scope/job_5"},
        {"/c/n1_slurmstepd.scope/job_5/step_batch/user/task_0", "/c/n1_slurmstepd.scope/job_5"},
        {"/c/step_up.scope/s4GJ0/step_extern/slurm", "/c/step_up.scope/s4GJ0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s", rows[i][0]);
        assert_int_equal(hm_cgroup_cut_to_job(path), rows[i][1] ? 0 : -1);
        assert_string_equal(path, rows[i][1] ? rows[i][1] : rows[i][0]);
    }
}

static int remove_root(void **state)
{
    (void)state;
    return scratch_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bad_contents_are_refused, fresh),
        cmocka_unit_test_setup(test_bad_plans_are_named, fresh),
        cmocka_unit_test_setup(test_bad_files_are_refused, fresh),
        cmocka_unit_test_setup(test_folders_that_others_may_write_are_refused, fresh),
        cmocka_unit_test_setup(test_modes_do_not_follow_the_umask, fresh),
        cmocka_unit_test_setup(test_entries_come_back_and_go, fresh),
        cmocka_unit_test_setup(test_the_lock_holds_and_ends, fresh),
        cmocka_unit_test_setup(test_who_lives, fresh),
        cmocka_unit_test_setup(test_alone, fresh),
        cmocka_unit_test_setup(test_warnings_and_steps_have_room_and_no_doubles, fresh),
        cmocka_unit_test_setup(test_processes_are_told_apart, fresh),
        cmocka_unit_test_setup(test_all_are_told_before_one_is_waited_for, fresh),
        cmocka_unit_test_setup(test_cgroup_of_a_job, fresh),
    };
    if (!mkdtemp(root))
        return 1;
    return cmocka_run_group_tests(tests, NULL, remove_root);
}
