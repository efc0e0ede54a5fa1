/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task of --hybrid-mem=profile,method=mbi: one part of its memory is in the slow tier, as the run of a plan has it
 * that the number of the job's array task names, and a process of the user's counts the traffic of that tier until the
 * step has ended (hybridmem profile mbi task).
 */
#ifndef HM_JOB_STEP_MBITASK_H
#define HM_JOB_STEP_MBITASK_H

#include "core/plan/plan.h"
#include "guided.h"
#include "outcome.h"
#include "step.h"

/*
 * Places the calling task. What is not the plan's program, and what was measured before, runs as ever: the outcome and
 * one line say why. Returns 0, or -1 with a text: the run cannot be measured, and the task must not run.
 */
int hm_mbitask_place(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment,
                     struct hm_error *error);

/* What the program has printed. */
struct hm_mbitask_start {
    char text[HM_GUIDED_TEXT]; /* for the library; "": the task is not measured */
    struct hm_set nodes;       /* of memory of other sites */
    uint32_t pid;              /* of the process that counts; 0: another task has started it */
};

/* Reads it, lines "KEY VALUE". `printed` is changed. Returns 0, or -1 where it is none of ours. Pure. */
int hm_mbitask_parse(char *printed, struct hm_mbitask_start *start);

/* Why the step cannot be measured, whatever its program is; NULL: it can. `array_task_id` is HM_NO_ID without an array.
 * Pure. */
const char *hm_mbitask_judge(const struct hm_request *request, uint32_t array_task_id, uint32_t n_nodes, bool is_alone,
                             struct hm_error *error);

#endif
