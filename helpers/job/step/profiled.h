/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task that is profiled: `hybridmem sites record`, as the user and in the task's cgroup, records its program, and
 * puts the profile into the user's store. What cannot be profiled runs as ever, and the record says why.
 */
#ifndef HM_JOB_STEP_PROFILED_H
#define HM_JOB_STEP_PROFILED_H

#include "isolate.h"
#include "outcome.h"
#include "step.h"

/* Makes the file in memory in which the recorders of a step leave a line each. Its size is fixed, as users write it.
 * Returns the descriptor, or -1 with errno. */
int hm_profiled_open_results(void);

/* May the step's recorders look by DAMON, where they can sample in no other way? Each takes a kdamond, of which the
 * node's other jobs need some, and who moves memory while it is recorded needs single pages. Pure. */
bool hm_profiled_may_look(const struct hm_step *step);

/*
 * Starts the recorder of the calling task, which is the user's, and sets the environment of its program. `plan`: the
 * recorder guides the program by it, too; NULL: it does not. Returns 0, or -1 with a text, which the outcome has, too:
 * the task runs without it.
 */
int hm_profiled_begin(const struct hm_step *step, const struct hm_plan *plan, struct hm_outcome *outcome,
                      const struct hm_environment *environment, struct hm_error *error);

/*
 * After the step's last task: waits for the recorders on this node, 30 s at most, and tells how it went. Only
 * processes of the job's are waited for, as tasks can note others; those that do not end are killed.
 * `status`, the highest of the tasks' as wait(2) has it, is told to a process that counts (mbitask.h). Of a step that
 * is guided online, the outcome then has what came of that.
 */
void hm_profiled_end(const struct hm_step *step, struct hm_outcome *outcome, int status, struct hm_profiled *profiled);

/* Longest line of guidance online, with its end: 32 sites, and why none was placed. */
#define HM_PROFILED_GUIDED 2048
/* Most that a recorder leaves, each line with its end: "period", "unrated", "unsampled", that of guidance, and what
 * became of the profile. */
#define HM_PROFILED_RESULT (32 + 2 * HM_WARNING + HM_PROFILED_GUIDED + HM_ERROR_TEXT + 16)

/* Notes a process for whom the end of the step waits. */
void hm_profiled_note(struct hm_outcome *outcome, uint32_t pid);
/* Says why a task is not profiled; the first one counts. */
void hm_profiled_leave(struct hm_outcome *outcome, const char *why);

/* What the recorder has printed, lines "KEY VALUE". */
struct hm_profiled_start {
    char file[HM_CONFIG_PATH_MAX], folder[HM_PROFILED_FOLDER];
    uint32_t pid;
};

/* Reads it. `printed` is changed. Returns 0, or -1 where it is none of ours. Pure. */
int hm_profiled_parse(char *printed, struct hm_profiled_start *start);

/*
 * Reads the first line "guided KEY=VALUE ..." that the recorders have left of guidance online, and adds what all have
 * moved. A value that cannot be is left out. Returns whether there is one. Pure.
 */
bool hm_profiled_read_guided(const char *results, struct hm_guided *guided);

/* Reads the lines that the recorders have left, of `n` recorders. Pure. */
void hm_profiled_judge(const char *results, uint32_t n, struct hm_profiled *profiled);

#endif
