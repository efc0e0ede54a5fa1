/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the ledger: files and folders it refuses, entries that come back, fields of other versions, a write that fails,
 * its lock, and the room for warnings and steps.
 */
#include <dirent.h>
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

#include "base/files.h"
#include "job/ledger/ledger.h"
#include "job/ledger/table.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_error error;
static struct hm_job job;
static int names_left = -1; /* names that folders still give before their reading fails; -1: it does not fail */

struct dirent *__real_readdir(DIR *folder);
struct dirent *__wrap_readdir(DIR *folder);

struct dirent *__wrap_readdir(DIR *folder)
{
    if (names_left == 0) {
        errno = EIO;
        return NULL;
    }
    names_left -= names_left > 0;
    return __real_readdir(folder);
}

static char *in_jobs(const char *name)
{
    return scratch_path("run/jobs/%s", name);
}

/* A new ledger with one entry, of job 7. */
static int fresh(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    return 0;
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), -1);
    assert_int_equal(errno, ENOENT);

    scratch_write(in_jobs("8"), "short");
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), -1);
    assert_int_equal(errno, EBADMSG);

    assert_int_equal(truncate(in_jobs("8"), HM_ENTRY_MOST), 0);
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_non_null(strstr(error.text, "540672 bytes"));

    assert_int_equal(chmod(in_jobs("7"), 0640), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(chmod(in_jobs("7"), 0600), 0);

    /* another job's entry under the name 9 */
    assert_int_equal(link(in_jobs("7"), in_jobs("9")), 0);
    assert_int_equal(hm_ledger_read(&config, 9, &job, &error), -1);
    assert_int_equal(errno, EBADMSG);

    assert_int_equal(symlink(in_jobs("7"), in_jobs("10")), 0);
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
    assert_int_equal(status.st_mode & 07777, HM_FOLDER_PASS);
    assert_int_equal(stat(in_jobs("7"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    fresh(NULL);
    umask(before);
    assert_int_equal(stat(config.run_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, HM_FOLDER_PASS);
    assert_int_equal(stat(in_jobs(""), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

/* Earlier versions let users list the folder. */
static void test_a_folder_that_users_can_list_is_shut(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(chmod(config.run_dir, 0755), 0);
    int lock = hm_ledger_lock(&config, &error);
    assert_true(lock >= 0);
    hm_ledger_unlock(lock);
    assert_int_equal(stat(config.run_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, HM_FOLDER_PASS);
    assert_int_equal(chmod(config.run_dir, 0700), 0); /* the site's own choice stays */
    lock = hm_ledger_lock(&config, &error);
    assert_true(lock >= 0);
    hm_ledger_unlock(lock);
    assert_int_equal(stat(config.run_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(chmod(config.run_dir, HM_FOLDER_PASS), 0);
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
    scratch_write(in_jobs("7x"), "");
    scratch_write(hm_ledger_samples_path(&config, 7, samples, sizeof(samples)), "");

    assert_int_equal(hm_ledger_list(&config, &ids, &error), 2);
    assert_true((ids[0] == 7 && ids[1] == 4294967293u) || (ids[1] == 7 && ids[0] == 4294967293u));
    free(ids);

    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0); /* again, as after a crash */
    assert_int_equal(access(samples, F_OK), -1);
    assert_int_equal(hm_ledger_read(&config, 7, &other, &error), -1);
    assert_int_equal(errno, ENOENT);
}

/* A part of the ledger is never taken for all of it: the jobs that are missing would count as dead. */
static void test_a_ledger_that_cannot_be_read_to_its_end(void **state)
{
    (void)state;
    uint32_t *ids;
    for (names_left = 0; names_left < 4; names_left++) {
        const int before = names_left;
        error.text[0] = '\0';
        assert_int_equal(hm_ledger_list(&config, &ids, &error), -1);
        assert_int_equal(errno, EIO);
        assert_null(ids);
        assert_non_null(strstr(error.text, "/run/jobs: Input/output error"));
        names_left = before;
        assert_int_equal(hm_ledger_remove(&config, 8, &error), -1);
        assert_non_null(strstr(error.text, "Input/output error"));
        names_left = before;
    }
    names_left = -1;
    assert_int_equal(hm_ledger_list(&config, &ids, &error), 1);
    free(ids);
}

static void append(const char *path, const char *lines)
{
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    assert_int_equal(fseek(file, -(long)strlen("end\n"), SEEK_END), 0);
    assert_true(fprintf(file, "%send\n", lines) > 0);
    assert_int_equal(fclose(file), 0);
}

static bool has_line(const char *path, const char *line)
{
    static char content[HM_ENTRY_MOST];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
    fclose(file);
    return strstr(content, line) != NULL;
}

/* Versions alternate: an entry keeps the fields that only one of them knows. */
static void test_what_another_version_has_written_stays(void **state)
{
    (void)state;
    append(in_jobs("7"), "later.value 3\n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        hm_job_add_step(&job, 1);
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        assert_true(has_line(in_jobs("7"), "\nlater.value 3\nend\n"));
    }
    hm_job_init(&job, 7); /* the next run of the job */
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_false(has_line(in_jobs("7"), "later.value"));
}

/* A value out of range could not be read again: the earlier entry stays. */
static void test_a_write_that_fails_leaves_the_entry(void **state)
{
    (void)state;
    static struct hm_job other;
    job.n_changes = HM_JOB_CHANGES + 1;
    assert_int_equal(hm_ledger_write(&config, &job, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_non_null(strstr(error.text, "job 7: change is out of range"));
    assert_int_equal(hm_ledger_read(&config, 7, &other, &error), 0);
    assert_int_equal(other.n_changes, 0);
    assert_int_equal(access(in_jobs("7.draft"), F_OK), -1);
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
    /* A child that inherits the descriptor does not keep the lock. */
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

    /* A holder that died does not keep it either. */
    pid = fork();
    if (pid == 0)
        _exit(hm_ledger_lock(&config, NULL) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(is_locked());
    hm_ledger_unlock(-1); /* does nothing */
}

static void test_warnings_and_steps_have_room_and_no_doubles(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * HM_JOB_WARNINGS; i++) {
        hm_job_warn(&job, "warning %d", i % HM_JOB_WARNINGS);
        hm_job_warn(&job, "warning %d", i % HM_JOB_WARNINGS);
    }
    assert_int_equal(job.n_warnings, HM_JOB_WARNINGS);
    assert_string_equal(job.warning[HM_JOB_WARNINGS - 1], "warning 15");
    hm_job_warn(&job, "one too many");
    hm_job_warn(&job, "%0300d", 7);
    hm_job_warn(&job, "the last");
    assert_int_equal(job.n_warnings, HM_JOB_WARNINGS);
    assert_string_equal(job.warning[HM_JOB_WARNINGS - 2], "warning 14");
    assert_string_equal(job.warning[HM_JOB_WARNINGS - 1], "others are left out; the last one: the last");
    for (uint32_t i = 0; i < HM_JOB_STEPS + 5; i++)
        hm_job_add_step(&job, i);
    hm_job_add_step(&job, 0);
    assert_int_equal(job.n_steps, HM_JOB_STEPS + 5);
    assert_int_equal(job.step[HM_JOB_STEPS - 1], HM_JOB_STEPS - 1);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bad_files_are_refused, fresh),
        cmocka_unit_test_setup(test_folders_that_others_may_write_are_refused, fresh),
        cmocka_unit_test_setup(test_modes_do_not_follow_the_umask, fresh),
        cmocka_unit_test_setup(test_a_folder_that_users_can_list_is_shut, fresh),
        cmocka_unit_test_setup(test_entries_come_back_and_go, fresh),
        cmocka_unit_test_setup(test_a_ledger_that_cannot_be_read_to_its_end, fresh),
        cmocka_unit_test_setup(test_what_another_version_has_written_stays, fresh),
        cmocka_unit_test_setup(test_a_write_that_fails_leaves_the_entry, fresh),
        cmocka_unit_test_setup(test_the_lock_holds_and_ends, fresh),
        cmocka_unit_test_setup(test_warnings_and_steps_have_room_and_no_doubles, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
