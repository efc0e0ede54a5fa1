/* SPDX-License-Identifier: Apache-2.0 */
/* Places a task of the mode guided: with the sites that its profile chooses or, where it has none, by another plan. */
#ifndef HM_JOB_STEP_GUIDEDTASK_H
#define HM_JOB_STEP_GUIDEDTASK_H

#include "isolate.h"
#include "outcome.h"
#include "step.h"

/*
 * Applies a guided plan to this process, and to the environment of the program that it becomes. For a program that
 * cannot be guided the plan becomes another one. The outcome has the choice and the plan of the first task. Returns 0,
 * or -1 with a text.
 */
int hm_guidedtask_place(const struct hm_step *step, struct hm_outcome *outcome, struct hm_plan *plan,
                        const struct hm_environment *environment, struct hm_error *error);

#endif
