/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what becomes of the processes of a step where its cgroups cannot be read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "migrator/watch/ranks.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static const char *failing = ""; /* this call fails, for this file where it has a name */
static const char *failing_name = "";
static int failure; /* with this errno */

/* Has this call to fail? */
static bool fails(const char *call, const char *name)
{
    if (strcmp(call, failing) != 0 || strcmp(name, failing_name) != 0)
        return false;
    errno = failure;
    return true;
}

int __real_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...);
FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
int __real_hm_process_read(pid_t pid, const char *name, char *out, size_t size);
int __wrap_hm_process_read(pid_t pid, const char *name, char *out, size_t size);

int __wrap_openat(int at, const char *name, int flags, ...)
{
    return fails("openat", name) ? -1 : __real_openat(at, name, flags);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    return fails("fdopen", "") ? NULL : __real_fdopen(fd, mode);
}

DIR *__wrap_fdopendir(int fd)
{
    return fails("fdopendir", "") ? NULL : __real_fdopendir(fd);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails("realloc", "") ? NULL : __real_realloc(memory, bytes);
}

static struct hm_ranks ranks;

/* Every process is in the step's cgroup. */
int __wrap_hm_process_read(pid_t pid, const char *name, char *out, size_t size)
{
    if (strcmp(name, "cgroup") != 0)
        return __real_hm_process_read(pid, name, out, size);
    snprintf(out, size, "0::%s\n", ranks.cgroup + strlen("/sys/fs/cgroup"));
    return 0;
}

/* The step's folder has a folder of a task, with a process. */
static pid_t start_step(void)
{
    char text[16];
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not end it */
        for (;;)
            pause();
    }
    assert_int_equal(hm_ranks_init(&ranks, "/sys/fs/cgroup/a", getuid(), NULL), 0);
    snprintf(ranks.cgroup, sizeof(ranks.cgroup), "%s", scratch);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    mkdir(scratch_path("task_0"), 0700);
    scratch_write(scratch_path("cgroup.procs"), "");
    scratch_write(scratch_path("task_0/cgroup.procs"), text);
    return pid;
}

/* Of a cgroup that has vanished the processes are gone. Of one that was not seen they are not. */
static void only_what_was_looked_for_is_gone(void **state)
{
    (void)state;
    static const struct {
        const char *call, *name;
        int number;
        bool stays;
    } rows[] = {
        {"", "", 0, true},
        {"openat", "task_0", EMFILE, true},
        {"openat", "task_0", ENFILE, true},
        {"openat", "task_0", ENOMEM, true},
        {"openat", "task_0", ENOENT, false},
        {"openat", "cgroup.procs", ENFILE, true},
        {"openat", "cgroup.procs", ENODEV, false},
        {"fdopen", "", ENOMEM, true},
        {"fdopendir", "", ENOMEM, true},
        {"realloc", "", ENOMEM, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        pid_t pid = start_step();
        assert_int_equal(hm_ranks_update(&ranks, NULL), 1);
        int space = hm_ranks_space(&ranks, pid);
        failing = rows[i].call, failing_name = rows[i].name, failure = rows[i].number;
        int living = hm_ranks_update(&ranks, NULL);
        failing = "";
        if (space < 0 || living != rows[i].stays || ranks.rank[space].is_gone == rows[i].stays)
            fail_msg("row %zu: %d live", i, living);
        assert_int_equal(hm_ranks_update(&ranks, NULL), 1);
        space = hm_ranks_space(&ranks, pid);
        assert_true(space >= 0 && ranks.rank[space].is_new != rows[i].stays);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        hm_ranks_free(&ranks);
    }
}

/* Whether it was seen or not. */
static void one_that_has_ended_is_gone(void **state)
{
    (void)state;
    pid_t pid = start_step();
    assert_int_equal(hm_ranks_update(&ranks, NULL), 1);
    int space = hm_ranks_space(&ranks, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    failing = "openat", failing_name = "task_0", failure = EMFILE;
    assert_int_equal(hm_ranks_update(&ranks, NULL), 0);
    failing = "";
    assert_true(ranks.rank[space].is_gone);
    hm_ranks_free(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_looked_for_is_gone),
        cmocka_unit_test(one_that_has_ended_is_gone),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
