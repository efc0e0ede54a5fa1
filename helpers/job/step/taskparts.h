/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a task share. Internal to this folder. */
#ifndef HM_JOB_STEP_TASKPARTS_H
#define HM_JOB_STEP_TASKPARTS_H

#include "step.h"

/* Writes to the task's standard error: one line, one write. */
void hm_task_say(const char *text);

/* Plans a request for the CPUs of the calling task. Returns 0, or -1 with a text. */
int hm_task_resolve(const struct hm_step *step, const struct hm_request *request, struct hm_plan *plan,
                    struct hm_error *error);

#endif
