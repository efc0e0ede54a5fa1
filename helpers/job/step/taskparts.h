/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a task share. Internal to this folder. */
#ifndef HM_JOB_STEP_TASKPARTS_H
#define HM_JOB_STEP_TASKPARTS_H

#include <stdbool.h>

#include "task.h"

/* Returns true for the first task that asks; NULL: all are. */
bool hm_task_is_first(uint32_t *said);
/* Takes the right to fill in a part of the outcome, which the first task on the node has. */
bool hm_task_begin_part(uint32_t *has);
/* The plan is that of the step's tasks on this node, unless another task's is. `outcome` may be NULL. */
void hm_task_keep_plan(struct hm_outcome *outcome, const struct hm_plan *plan);

/* Writes to the task's standard error: one line, one write. */
void hm_task_say(const char *text);

/* Plans a request for the CPUs of the calling task. Returns 0, or -1 with a text. */
int hm_task_resolve(const struct hm_step *step, const struct hm_request *request, struct hm_plan *plan,
                    struct hm_error *error);

#endif
