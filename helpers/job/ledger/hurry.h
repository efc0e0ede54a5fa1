/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a thread from waiting for a job's memory (aside.h, base/memready.h) or for a job's CPUs (urgent.h). For a
 * thread that takes a lock which other jobs wait for, or that makes, removes or looks for a file in a folder of root's:
 * the kernel holds the folder's own lock meanwhile.
 */
#ifndef HM_JOB_LEDGER_HURRY_H
#define HM_JOB_LEDGER_HURRY_H

/* Call this before the lock is taken, or the file made, removed or looked for. Not for tasks (aside.h). A call within
 * another is not allowed.
 */
void hm_hurry_begin(void);
/* Call this when it is done. Keeps errno. */
void hm_hurry_end(void);

#endif
