/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the tasks of isolate, guided and profile: the mode's preload library in front of the user's own
 * LD_PRELOAD, and what the library needs to know: the nodes, and for guided the sites; for profile the folder of the
 * recording. A job's script passes its environment to the steps and jobs that it starts, and these may have another
 * mode. So the variables are set together with a mark, HYBRIDMEM_ISOLATE_JOB. Where a task has the mark in its
 * environment, our libraries and what they need to know are removed from it. Where it has not, the user has set what is
 * there, and nothing is removed.
 */
#ifndef HM_JOB_STEP_ISOLATE_H
#define HM_JOB_STEP_ISOLATE_H

#include "core/plan/plan.h"

#define HM_ISOLATE_JOB "HYBRIDMEM_ISOLATE_JOB"
#define HM_ISOLATE_NODES "HYBRIDMEM_ISOLATE_NODES"
#define HM_ISOLATE_SITES "HYBRIDMEM_SITES" /* of profile: the folder of the recording */
#define HM_ISOLATE_GUIDE "HYBRIDMEM_GUIDE" /* of guided: nodes and sites */

/* A task's environment, wherever it is stored. Each function returns 0, or -1 with errno. */
struct hm_environment {
    /*
     * Copies the value to `out`. ENOENT: the variable is not set; ENAMETOOLONG: the value needs more than `size` bytes.
     */
    int (*get)(void *data, const char *name, char *out, size_t size);
    int (*set)(void *data, const char *name, const char *value);
    int (*unset)(void *data, const char *name); /* also succeeds if it is not set */
    void *data;
    /* the task's program, as the user has named it, and its arguments; NULL: not known, or not needed */
    char *const *words;
};

/* Removes what hm_isolate_enter has set in this environment for another step or job. Returns 0, or -1 with a text. */
int hm_isolate_leave(const struct hm_environment *environment, struct hm_error *error);

/*
 * Would the task's program end at its start with a library before it? Then `error` says so, and why. A program that
 * is not found is left to Slurm. Guided and profiled tasks have their answer from hybridmem-sites.
 */
bool hm_isolate_breaks(const struct hm_environment *environment, struct hm_error *error);

/* Sets the environment of a task with this plan. Returns 0, or -1 with a text. */
int hm_isolate_enter(const struct hm_environment *environment, const struct hm_plan *plan,
                     const struct hm_topology *topology, uint32_t job_id, struct hm_error *error);

/* The same for a guided task, whose library is told this text. */
int hm_isolate_enter_guided(const struct hm_environment *environment, const char *text, uint32_t job_id,
                            struct hm_error *error);

/* The same for a task that is profiled, whose library writes into this folder. */
int hm_isolate_enter_profiled(const struct hm_environment *environment, const char *folder, uint32_t job_id,
                              struct hm_error *error);

/*
 * Writes "fast=0@0,1@1 slow=2@0,3@1": the nodes of both tiers of the plan, with their sockets if known.
 * Returns 0, or -1 (ENAMETOOLONG). Pure.
 */
int hm_isolate_nodes(const struct hm_plan *plan, const struct hm_topology *topology, char *out, size_t size);

/*
 * Removes `library` from a value of LD_PRELOAD, a list separated by colons or spaces (ld.so(8)), and separators at the
 * end. Returns `value`. Pure.
 */
char *hm_isolate_strip(char *value, const char *library);

#endif
