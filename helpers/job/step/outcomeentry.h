/* SPDX-License-Identifier: Apache-2.0 */
/* What the job's entry gets of what a step's tasks have left. Tasks can write anything: all is checked. */
#ifndef HM_JOB_STEP_OUTCOMEENTRY_H
#define HM_JOB_STEP_OUTCOMEENTRY_H

#include "outcome.h"
#include "step.h"

/* Moves what the tasks have left into the entry. */
void hm_outcome_collect(struct hm_outcome *outcome, const struct hm_step *step, struct hm_job *job);
/* Warns if the step has guided tasks and others on this node: the entry has the choice and plan of the first. */
void hm_outcome_note_mixed(const struct hm_outcome *outcome, const struct hm_step *step, struct hm_job *job);
/* Notes the profile that the step has left, or why it has not. */
void hm_outcome_note_profile(const struct hm_profiled *profiled, const struct hm_step *step, struct hm_job *job);

#endif
