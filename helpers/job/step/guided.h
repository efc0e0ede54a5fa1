/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guided task: which sites of its program have their memory in the fast tier. `hybridmem sites guide --print` reads
 * the user's profile and chooses them, in a process of its own with the user's rights.
 */
#ifndef HM_JOB_STEP_GUIDED_H
#define HM_JOB_STEP_GUIDED_H

#include "isolate.h"
#include "job/ledger/ledger.h"
#include "step.h"

#define HM_GUIDED_TEXT (72 * 1024) /* bytes of what the task's library is told, with its end */

/*
 * Finds out what the task's library is to be told: `text`, "" where the program cannot be guided, and guided->why says
 * why: with fallback=migrate for all reasons but a wrong word of the request. To be called as the user, in the task's
 * working directory. The step's tasks on this node share its fast memory. Returns 0, or -1 with a text where the task
 * must not run.
 */
int hm_guided_choose(const struct hm_environment *environment, const struct hm_plan *plan, const struct hm_step *step,
                     struct hm_guided *guided, char text[HM_GUIDED_TEXT], struct hm_error *error);

/*
 * Reads what the program has printed, lines "KEY VALUE". It is changed. Returns 0, or -1 where it is none of ours.
 * Pure.
 */
int hm_guided_parse(char *printed, struct hm_guided *guided, char text[HM_GUIDED_TEXT]);

/* Reads a number, or a share from 0 to 1, of such a line. Returns 0, or -1 where the text is none: the value then stays
 * as it was. Pure. */
int hm_guided_take_number(const char *value, uint64_t *number);
int hm_guided_take_share(const char *value, double *share);

#endif
