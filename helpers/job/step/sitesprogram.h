/* SPDX-License-Identifier: Apache-2.0 */
/* Runs hybridmem-sites or hybridmem-profile for a task, as the task's user: they read and write the user's profiles,
 * and slurmstepd does not. */
#ifndef HM_JOB_STEP_SITESPROGRAM_H
#define HM_JOB_STEP_SITESPROGRAM_H

#include <limits.h>
#include <stdint.h>

#include "isolate.h"

#define HM_SITES_PROGRAM HM_LIBEXECDIR "/hybridmem-sites"

/* Makes a path absolute: the program that gets it is in another folder. Returns 0, or -1 with a text. */
int hm_sitesprogram_absolute(const char *path, char out[PATH_MAX], struct hm_error *error);

/* The task's program: its absolute path, or a name that is looked for in PATH. Returns 0, or -1 with a text. */
int hm_sitesprogram_name(const struct hm_environment *environment, char program[PATH_MAX], struct hm_error *error);

/*
 * Runs the program that the first of these words names, in an environment of what it needs of the task's. `extra`: a
 * descriptor that becomes its descriptor 3; -1: none. Returns 0 with what it has printed, and the first line that it
 * has said; or -1 with a text, where it failed: EINVAL if a word was wrong.
 */
int hm_sitesprogram_run(const struct hm_environment *environment, const char *const *words, int extra, char *printed,
                        size_t size, char said[HM_ERROR_TEXT], struct hm_error *error);

/* Takes a line's key and value. Returns 0, or -1: that value cannot be. */
typedef int hm_sitesprogram_take(void *data, const char *key, const char *value);

/* Takes the number of a process. Returns as hm_sitesprogram_take does. */
int hm_sitesprogram_take_pid(const char *value, uint32_t *pid);

/* Cuts what the program has printed, in place, into lines of a key and a value, and passes them on. Returns 0, or -1: a
 * line has no value, or `take` has returned -1. */
int hm_sitesprogram_parse(char *printed, hm_sitesprogram_take *take, void *data);

#endif
