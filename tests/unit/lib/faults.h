/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of the system, for tests of what comes after them. The linker leads the product's calls here (fault_wraps in
 * Makefile.am). One of them, by its number, meets a fault.
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

/* Has call number `at`, from 1, of those that can meet the fault meet it; `lasts`: all calls after it, too. */
void faults_arm(enum fault kind, unsigned at, bool lasts);
/* Has it been met? */
bool faults_were_met(void);
/* The call that met it first. */
const char *faults_call(void);

/*
 * Runs a function as a process: with a pid of its own, and until it returns or is killed; its descriptors and locks are
 * gone then. Only where `can_fail` it meets the fault. A process may run another one. Returns false where it was
 * killed. Fails the program where the function leaves a descriptor open, or a lock.
 */
bool faults_run(void (*process)(void), bool can_fail);
/* Is it the pid of a process that runs? */
bool faults_runs(pid_t pid);

/*
 * For functions that stand for others: does this call meet one of the faults `kinds`, FAULT() of each? Returns its
 * errno then, else 0. Where it is a kill, it does not return.
 */
int faults_meet(unsigned kinds, const char *call);
/* Will faults_meet find a fault? */
bool faults_are_due(unsigned kinds);

#endif
