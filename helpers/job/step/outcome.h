/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tasks of a step leave for slurmstepd: a small piece of memory that it shares with them. It has a fixed size.
 * Tasks can write anything there, so it is checked before it is used (outcomeentry.h).
 */
#ifndef HM_JOB_STEP_OUTCOME_H
#define HM_JOB_STEP_OUTCOME_H

#include <stdbool.h>

#include "job/ledger/ledger.h"

#define HM_OUTCOME_WARNINGS 4
#define HM_OUTCOME_RECORDERS 1024 /* recorders for whom the end of a step waits; more tasks than a node has CPUs */

struct hm_outcome {
    /* 1: a task has said this, in a line or (`said_outside`) in `outside`; the others do not repeat it.
     * `said_unguided`: a task is without the library of guided or of isolate */
    uint32_t said_refusal, said_binding, said_outside, said_unguided;
    uint32_t is_outside; /* 1: a task is not in the job's resctrl group, and `outside` says why */
    char outside[HM_WARNING];
    /* 1: `plan` is set, by the first task on the node; 2: it is being written; 0: neither */
    uint32_t has_plan;
    struct hm_plan plan;
    /* the same for a guided task's choice; `plan` then is of the same task */
    uint32_t has_guided;
    struct hm_guided guided;
    uint32_t n_guided, n_unguided; /* tasks that are guided, and that are not */
    /* recorders that tasks began to start, and have started; and the same as above for why one was not */
    uint32_t n_begun, n_recorders;
    struct hm_process recorder[HM_OUTCOME_RECORDERS];
    uint32_t counting; /* of method=mbi: what came of the process that counts (mbitask.c) */
    uint32_t has_unprofiled;
    char unprofiled[HM_WARNING];
    uint32_t n_warnings; /* slots handed out; a slot counts once it has a text */
    char warning[HM_OUTCOME_WARNINGS][HM_WARNING];
    /* The next six belong to slurmstepd. They are here because it may use a child process for each task's end. */
    uint32_t n_stored; /* 0: nothing of the above is in the ledger; else the number of warnings there, plus 1 */
    uint32_t n_ended, has_status;
    int32_t status;   /* the highest wait(2) status so far */
    uint32_t is_shut; /* 1: a task's end has waited for the ledger's lock in vain; only the last one waits again */
    int32_t unstored; /* the highest status of tasks that ended since */
};

/* Maps a struct hm_outcome, zeroed and shared with children. Returns NULL if that fails. */
struct hm_outcome *hm_outcome_map(void);
void hm_outcome_unmap(struct hm_outcome *outcome);

/* Returns true for the first task that asks; NULL: all are. */
bool hm_outcome_is_first(uint32_t *said);
/* Takes the right to fill in a part, which the first task on the node has. */
bool hm_outcome_begin_part(uint32_t *has);

/* For the next two, `outcome` may be NULL. The plan is that of the step's tasks on this node, unless another task's is.
 */
void hm_outcome_keep_plan(struct hm_outcome *outcome, const struct hm_plan *plan);
/* Leaves a warning for the record, if a slot is free. */
__attribute__((format(printf, 2, 3))) void hm_outcome_warn(struct hm_outcome *outcome, const char *format, ...);

#endif
