/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets one call of the product, chosen by its number, or all calls from that one on, meet a fault: the call fails, or
 * the process is killed there. Tests look at what is left, and at what repairs it. The linker leads the calls to
 * faultcalls.c (fault_wraps in job/tests.am).
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <sys/types.h>

enum fault {
    FAULT_KILL,   /* the process is killed before a call that changes something, or in the middle of a write */
    FAULT_DISK,   /* ENOSPC */
    FAULT_FILES,  /* EMFILE */
    FAULT_MEMORY, /* ENOMEM */
    FAULT_LOCK,   /* the limit of the wait for a lock is over */
    N_FAULTS
};
#define FAULT(kind) (1u << (kind))

const char *fault_name(enum fault kind);

/* Arms a fault. The calls that can meet it are counted from now on, the first one as 1: call number `at` meets it, and
 * with `lasts` all later ones meet it, too. */
void faults_arm(enum fault kind, unsigned at, bool lasts);
/* Has a call met the armed fault? */
bool faults_were_met(void);
/* The name of the first call that met the armed fault; "no call" before. */
const char *faults_call(void);

/*
 * Runs a function as if it were a process: getpid() gives it a pid of its own. If it is killed, its descriptors are
 * closed and its locks released. It meets the armed fault only if `can_fail`. A process may run another one in the same
 * way. Returns false if it was killed. Ends the program if the function returns with a descriptor or a lock left.
 */
bool faults_run(void (*process)(void), bool can_fail);
/* Does this pid belong to a process that faults_run() is running? */
bool faults_runs(pid_t pid);
/* Does it belong to a process that was killed since the fault was armed? */
bool faults_killed(pid_t pid);

/*
 * For a function that stands in for another one, `call`. `kinds` has FAULT() of each fault that the call can meet.
 * Counts the call if it can meet the armed fault. Returns the errno with which the call has to fail, or 0. Does not
 * return if the fault is a kill.
 */
int faults_meet(unsigned kinds, const char *call);
/* Will the next faults_meet() with these kinds meet the armed fault? */
bool faults_are_due(unsigned kinds);

#endif
