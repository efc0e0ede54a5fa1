/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what recorders of profiled tasks (step/profiled.h) have left that were killed with their job. */
#ifndef HM_JOB_PROGRAMS_RECORDINGS_H
#define HM_JOB_PROGRAMS_RECORDINGS_H

#include "job/ledger/ledger.h"

/*
 * A process of the job's user removes the user's recordings on this node that nobody holds. They take memory. Those of
 * the user's other jobs are held. Waits for a bounded time. Do not hold the lock. For programs with one thread.
 */
void hm_recordings_remove(const struct hm_job *job);

#endif
