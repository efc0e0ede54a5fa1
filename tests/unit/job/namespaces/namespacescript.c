/* SPDX-License-Identifier: Apache-2.0 */
#include "namespacescript.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "base/look.h"
#include "base/spawn.h"
#include "core/topology/regions.h"
#include "job/ledger/jobcgroup.h"
#include "job/namespaces/daxfolders.h"
#include "job/namespaces/wipelater.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

struct hm_config config;
struct hm_job job;
struct hm_error error;
bool is_missing, are_there, has_no_memory;
const char *labels[4];
uint32_t with_cgroup;
int n_created;
unsigned left_s;
bool takes_all;
int pauses;
void (*at_pause)(void);
bool child_hangs, has_no_acls;
int turn_ms;
static bool is_child;
static uint64_t slept_ns;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __real_nanosleep(const struct timespec *request, struct timespec *left);
int __wrap_nanosleep(const struct timespec *request, struct timespec *left);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags);
int __wrap_rmdir(const char *path);
int __real_mkdirat(int at, const char *path, mode_t mode);
int __wrap_mkdirat(int at, const char *path, mode_t mode);
int __real_renameat(int from_at, const char *from, int to_at, const char *to);
int __wrap_renameat(int from_at, const char *from, int to_at, const char *to);
int __real_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);

/* The script runs in the place of hybridmem-namespace. */
pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why)
{
    assert_non_null(strstr(spawn->path, "/hybridmem-namespace"));
    /* create must die with its parent, so that it makes nothing afterwards; commands that give memory back go on. */
    bool is_create = strcmp(spawn->arguments[1], "create") == 0;
    assert_int_equal(spawn->dies_with_parent, is_create);
    n_created += is_create;
    if (is_create && takes_all)
        left_s = 0;
    if (is_missing)
        return hm_fail(why, ENOENT, "cannot execute %s: No such file or directory", spawn->path);
    pid_t pid = fork();
    if (pid == 0) {
        int extra = spawn->extra >= 0 ? fcntl(spawn->extra, F_DUPFD, 10) : -1;
        close(3);
        if (extra >= 0)
            dup2(extra, 3);
        dup2(spawn->output, STDOUT_FILENO);
        dup2(spawn->errors, STDERR_FILENO);
        execv(scratch_path("script"), spawn->arguments);
        _exit(127);
    }
    return pid;
}

int hm_spawn_wait(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Checks that nobody waits for this child process: neither the ledger nor the node's namespaces are locked. */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    int lock = open(scratch_path("run/root/node/fsdax.namespaces"), O_RDWR | O_CLOEXEC);
    assert_int_equal(hm_heldlock_check("a process", NULL), 0);
    assert_true(lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0);
    if (lock >= 0)
        close(lock);
    assert_true(size > 0 && patience_ms <= 10000);
    turn_ms = 0;
    is_child = true;
    errno = child_hangs ? ETIMEDOUT : look(question, found);
    is_child = false;
    assert_true(turn_ms < patience_ms); /* it gave up before it would be killed, so it could say why */
    return errno == 0 ? 0 : -1;
}

/* Is it a child that works on the folders, under their own lock? */
static bool has_turn(void)
{
    int lock = open(scratch_path("run/root/node/fsdax.folders"), O_RDWR | O_CLOEXEC);
    bool is_locked = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0;
    if (lock >= 0)
        close(lock);
    return is_child && is_locked;
}

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
    assert_true(has_turn() || !strstr(path, "fsdax"));
    return __real_mkdirat(at, path, mode);
}

int __wrap_renameat(int from_at, const char *from, int to_at, const char *to)
{
    assert_true(has_turn() || strncmp(to, "ended.", 6) != 0);
    return __real_renameat(from_at, from, to_at, to);
}

int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    if (!has_no_acls)
        return __real_fsetxattr(fd, name, value, size, flags);
    errno = EOPNOTSUPP;
    return -1;
}

/* Removing a folder may unmount a user's file system in the process that does so, and that may last for ever. */
int __wrap_unlinkat(int folder, const char *name, int flags)
{
    assert_true(is_child || !(flags & AT_REMOVEDIR));
    return __real_unlinkat(folder, name, flags);
}

int __wrap_rmdir(const char *path)
{
    fail_msg("%s is removed in this process", path);
    return -1;
}

bool hm_regions_have_label(const char *folder, const char *prefix)
{
    assert_string_equal(folder, HM_REGIONS_FOLDER);
    assert_string_equal(prefix, "hybridmem:");
    return are_there;
}

int hm_regions_each_label(const char *folder, const char *prefix, void (*take)(void *data, const char *label),
                          void *data)
{
    assert_string_equal(folder, HM_REGIONS_FOLDER);
    assert_string_equal(prefix, "hybridmem:");
    assert_int_equal(hm_heldlock_check("a look", NULL), 0);
    for (int i = 0; labels[i]; i++)
        take(data, labels[i]);
    return 0;
}

/* The walk may take long: nobody waits for the ledger meanwhile. */
bool hm_jobcgroup_has(const char *cgroups, uint32_t job_id, bool counts_unnamed)
{
    assert_false(counts_unnamed);
    assert_string_equal(cgroups, HM_CGROUPS);
    assert_int_equal(hm_heldlock_check("a walk", NULL), 0);
    return job_id == with_cgroup;
}

bool hm_regions_have_devdax(const char *folder)
{
    assert_string_equal(folder, HM_REGIONS_FOLDER);
    return are_there;
}

unsigned hm_wipe_left(const struct hm_config *wiped)
{
    assert_ptr_equal(wiped, &config);
    return left_s;
}

void *__wrap_calloc(size_t n, size_t size)
{
    if (!has_no_memory)
        return __real_calloc(n, size);
    errno = ENOMEM;
    return NULL;
}

int __wrap_nanosleep(const struct timespec *request, struct timespec *left)
{
    if (is_child) {
        assert_int_equal(request->tv_sec, 0);
        turn_ms += (int)(request->tv_nsec / 1000000);
        return 0;
    }
    if (request->tv_sec == 0)
        return __real_nanosleep(request, left);
    assert_int_equal(request->tv_sec, 1);
    pauses++;
    slept_ns += PAUSE_S * UINT64_C(1000000000);
    if (at_pause)
        at_pause();
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = __real_clock_gettime(clock, now);
    now->tv_sec += (time_t)(slept_ns / UINT64_C(1000000000));
    if (is_child)
        now->tv_sec += turn_ms / 1000;
    return result;
}

void script(const char *body)
{
    char text[2048];
    snprintf(text, sizeof(text), "#!/bin/sh\nprintf '%%s\\n' \"$@\" > %s\n%s\n", scratch_path("told"), body);
    scratch_write(scratch_path("script"), text);
    assert_int_equal(chmod(scratch_path("script"), 0700), 0);
}

void assert_told(const char *wanted)
{
    char text[1024] = "";
    FILE *file = fopen(scratch_path("told"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (char *at = text; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    assert_string_equal(text, wanted);
}

void assert_nothing_told(void)
{
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
}

void forget_told(void)
{
    assert_int_equal(unlink(scratch_path("told")), 0);
}

int namespaces_set_up(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    is_missing = has_no_memory = false;
    are_there = true;
    memset(labels, 0, sizeof(labels));
    with_cgroup = 0;
    left_s = HM_WIPE_NO_LIMIT;
    takes_all = false;
    pauses = 0;
    at_pause = NULL;
    child_hangs = has_no_acls = false;
    error.text[0] = '\0';
    job.uid = 1001;
    job.restart = 3;
    snprintf(job.cluster, sizeof(job.cluster), "test");
    job.plan.fsdax = (struct hm_plan_fsdax){.is_wanted = true, .size_bytes = UINT64_C(1) << 30};
    hm_set_add(&job.plan.fsdax.sockets, 0);
    hm_set_add(&job.plan.fsdax.sockets, 1);
    job.namespaces.is_begun = true;
    job.namespaces.restart = 2;
    return hm_ledger_write(&config, &job, &error);
}

bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int with_two_jobs(void **state)
{
    struct hm_job other;
    int result = namespaces_set_up(state);
    hm_job_init(&other, 12);
    assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
    make_folders(12, 1);
    make_folders(13, 1);
    return result;
}

void make_folders(uint32_t job_id, int n)
{
    static struct hm_job of;
    of.job_id = job_id;
    of.namespaces = (struct hm_job_namespaces){.n = (uint32_t)n, .each = {{.socket = 0}, {.socket = 1}}};
    assert_int_equal(hm_daxfolders_make(&config, &of, &error), 0);
}

bool has_folder(uint32_t job_id)
{
    char path[HM_DAX_PATH];
    return is_folder(hm_dax_job_folder(&config, job_id, path));
}
