/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task of a step: it is placed in its own process, as the user, just before it executes the user's program. Results
 * come back in a small piece of memory that slurmstepd shares with its tasks. It has a fixed size, and is checked
 * before it is used.
 */
#ifndef HM_JOB_STEP_TASK_H
#define HM_JOB_STEP_TASK_H

#include "isolate.h"
#include "step.h"

#define HM_OUTCOME_WARNINGS 4
#define HM_OUTCOME_RECORDERS 1024 /* recorders for whom the end of a step waits; more tasks than a node has CPUs */

struct hm_outcome {
    /* 1: a task has said this, in a line or (`said_outside`) in `outside`; the others do not repeat it */
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
    /* recorders that tasks have started; and the same as above for why one was not */
    uint32_t n_recorders;
    struct hm_process recorder[HM_OUTCOME_RECORDERS];
    uint32_t counting; /* of method=mbi: what came of the process that counts (mbitask.c) */
    uint32_t has_unprofiled;
    char unprofiled[HM_WARNING];
    uint32_t n_warnings; /* slots handed out; a slot counts once it has a text */
    char warning[HM_OUTCOME_WARNINGS][HM_WARNING];
    /* The next four belong to slurmstepd. They are here because it may use a child process for each task's end. */
    uint32_t n_stored; /* 0: nothing of the above is in the ledger; else the number of warnings there, plus 1 */
    uint32_t n_ended, has_status;
    int32_t status; /* the highest wait(2) status so far */
};

/* Maps a struct hm_outcome, zeroed and shared with children. Returns NULL if that fails. */
struct hm_outcome *hm_outcome_map(void);
void hm_outcome_unmap(struct hm_outcome *outcome);

/*
 * Mounts the job's file systems for the calling task, which is still root (in task_init_privileged), unless the step is
 * refused. If that fails, the text is left in this process's copy of `step`, for hm_task_place.
 */
void hm_task_mount(struct hm_step *step);

/*
 * Puts the calling task, which is still root (in task_init_privileged), into the job's monitoring group, if there is
 * one. If that fails, the task runs all the same; the first one removes the group, so that its figures are not taken
 * for the whole job's, and hm_task_ended writes into the ledger why. A task itself takes no lock, as slurmstepd may put
 * it into its cgroup at any moment (job/ledger/aside.h).
 */
void hm_task_join(const struct hm_step *step, struct hm_outcome *outcome);

/*
 * Places the calling task. `environment` is that of the program that it becomes. `outcome` may be NULL. Returns 0, also
 * if there is nothing to do, or -1: the task must not run, and one line on descriptor 2 of the first such task says
 * why.
 */
int hm_task_place(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment);

/*
 * To be called when a task has ended with this wait(2) status: writes to the ledger what is not there yet. After the
 * last task it also ends the step's migrator and takes its figures. Does nothing if `outcome` is NULL. Returns 0, or -1
 * with a text for the log.
 */
int hm_task_ended(const struct hm_step *step, struct hm_outcome *outcome, int status, struct hm_error *error);

#endif
