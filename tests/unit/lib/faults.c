/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include "base/heldlock.h"

#define FIRST_PID 1000
#define MOST_OPEN 64 /* descriptors of a process */

static const struct {
    const char *name;
    int number;
} faults[N_FAULTS] = {
    [FAULT_KILL] = {"kill", 0},
    [FAULT_DISK] = {"full disk", ENOSPC},
    [FAULT_FILES] = {"no descriptor", EMFILE},
    [FAULT_MEMORY] = {"no memory", ENOMEM},
    [FAULT_LOCK] = {"the lock's limit", ETIMEDOUT},
};

struct process {
    jmp_buf killed;
    pid_t pid;
    int first_fd; /* descriptors from here on are its own */
    bool can_fail;
    struct process *parent;
};

static struct process *current;
static pid_t last_pid, killed_pid; /* one process at most is killed */
static struct {
    enum fault kind;
    unsigned at, count;
    bool lasts, was_met;
    const char *call;
} armed;

const char *fault_name(enum fault kind)
{
    return faults[kind].name;
}

void faults_arm(enum fault kind, unsigned at, bool lasts)
{
    armed.kind = kind;
    armed.at = at;
    armed.lasts = lasts;
    armed.count = 0;
    armed.was_met = false;
    armed.call = "no call";
    last_pid = FIRST_PID;
    killed_pid = 0;
}

bool faults_were_met(void)
{
    return armed.was_met;
}

const char *faults_call(void)
{
    return armed.call;
}

/* ------------------------------------------------------------------ processes */

static int lowest_free(void)
{
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

static void check_nothing_is_left(const struct process *process)
{
    if (lowest_free() == process->first_fd && hm_heldlock_check("", NULL) == 0)
        return;
    fprintf(stderr, "%s at %s, call %u: a descriptor or a lock is left\n", fault_name(armed.kind), armed.call,
            armed.at);
    _exit(1);
}

static void clean_up(const struct process *process)
{
    for (int fd = process->first_fd; fd < process->first_fd + MOST_OPEN; fd++)
        close(fd);
    while (hm_heldlock_check("", NULL) != 0)
        hm_heldlock_leave();
}

bool faults_run(void (*run)(void), bool can_fail)
{
    struct process process = {.pid = ++last_pid, .first_fd = lowest_free(), .can_fail = can_fail, .parent = current};
    current = &process;
    bool is_killed = setjmp(process.killed) != 0;
    if (is_killed) {
        killed_pid = process.pid;
        clean_up(&process);
    } else {
        run();
        check_nothing_is_left(&process);
    }
    current = process.parent;
    return !is_killed;
}

bool faults_runs(pid_t pid)
{
    for (const struct process *process = current; process; process = process->parent)
        if (process->pid == pid)
            return true;
    return false;
}

bool faults_killed(pid_t pid)
{
    return pid > 0 && pid == killed_pid;
}

pid_t __real_getpid(void);
pid_t __wrap_getpid(void);

pid_t __wrap_getpid(void)
{
    return current ? current->pid : __real_getpid();
}

static bool is_counted(unsigned kinds)
{
    return current && current->can_fail && (kinds & FAULT(armed.kind));
}

bool faults_are_due(unsigned kinds)
{
    unsigned next = armed.count + 1;
    return is_counted(kinds) && (next == armed.at || (next > armed.at && armed.lasts));
}

int faults_meet(unsigned kinds, const char *call)
{
    bool is_due = faults_are_due(kinds);
    armed.count += is_counted(kinds);
    if (!is_due)
        return 0;
    if (!armed.was_met)
        armed.call = call;
    armed.was_met = true;
    if (armed.kind == FAULT_KILL)
        longjmp(current->killed, 1);
    return faults[armed.kind].number;
}
