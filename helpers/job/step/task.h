/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task of a step: placing it, in the task's own process, as the user, just before it executes; and what comes back
 * from there. The way back is one small piece of memory that slurmstepd shares with its task children: bounded, and
 * checked before it is believed.
 */
#ifndef HM_JOB_STEP_TASK_H
#define HM_JOB_STEP_TASK_H

#include "isolate.h"
#include "step.h"

#define HM_OUTCOME_WARNINGS 4

struct hm_outcome {
    uint32_t said_refusal, said_binding, said_outside; /* 1: a task has said it; the others need not */
    uint32_t has_plan;                                 /* set after `plan` was written, by the node's first task */
    struct hm_plan plan;
    uint32_t n_warnings; /* tickets drawn: a slot counts once it has a text */
    char warning[HM_OUTCOME_WARNINGS][HM_WARNING];
    /* of slurmstepd: may run in a child of its own for each task, so it is kept here too */
    uint32_t n_stored; /* 0: nothing of the above is in the ledger; else one more than the warnings that are */
    uint32_t n_ended, has_status;
    int32_t status; /* the highest so far */
};

/* Memory for it, zeroed and shared with children, or NULL. */
struct hm_outcome *hm_outcome_map(void);
void hm_outcome_unmap(struct hm_outcome *outcome);

/*
 * Mount the job's file systems for the calling task, which still is root (in task_init_privileged). What goes wrong is
 * left in its own copy of the step, for hm_task_place to say.
 */
void hm_task_mount(struct hm_step *step);

/*
 * Put the calling task, which still is root (in task_init_privileged), into the job's monitoring group, if there is
 * one. Where that fails the ledger's entry gets the reason, once for all tasks; the task runs all the same.
 */
void hm_task_join(const struct hm_step *step, struct hm_outcome *outcome);

/*
 * Place the calling task; `environment` is that of the program which it becomes. Returns 0 (also where there is nothing
 * to do), or -1: the task may not run, and its one line is on descriptor 2. `outcome` may be NULL.
 */
int hm_task_place(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment);

/*
 * A task ended with this wait(2) status: what the ledger does not have yet is written there. Returns 0, or -1 with a
 * text for the log.
 */
int hm_task_ended(const struct hm_step *step, struct hm_outcome *outcome, int status, struct hm_error *error);

#endif
