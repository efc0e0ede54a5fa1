/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of an isolate job's tasks: the preload library before the user's own, and what it wants to know. A
 * job's script hands its environment to the steps and jobs that it starts, and these may have another mode: what was
 * set here carries the mark HYBRIDMEM_ISOLATE_JOB and is taken back by it: what users set themselves stays where there
 * is no mark; under it our library and the nodes go, whoever has set them.
 */
#ifndef HM_JOB_STEP_ISOLATE_H
#define HM_JOB_STEP_ISOLATE_H

#include "core/plan/plan.h"

#define HM_ISOLATE_JOB "HYBRIDMEM_ISOLATE_JOB"
#define HM_ISOLATE_NODES "HYBRIDMEM_ISOLATE_NODES"

/* A task's environment, wherever it is kept. Each function returns 0, or -1 with errno. */
struct hm_environment {
    /* The value into `out`: ENOENT where there is none, ENAMETOOLONG where `size` bytes do not hold it. */
    int (*get)(void *data, const char *name, char *out, size_t size);
    int (*set)(void *data, const char *name, const char *value);
    int (*unset)(void *data, const char *name); /* also where there is none */
    void *data;
};

/* Take back what was set for a step or job that this environment comes from. Returns 0, or -1 with a text. */
int hm_isolate_leave(const struct hm_environment *environment, struct hm_error *error);

/* Set it for a task with this plan. Returns 0, or -1 with a text. */
int hm_isolate_enter(const struct hm_environment *environment, const struct hm_plan *plan,
                     const struct hm_topology *topology, uint32_t job_id, struct hm_error *error);

/* "fast=0@0,1@1 slow=2@0,3@1": the nodes that the plan moves between, with their sockets as far as they are known.
 * Returns 0, or -1 (ENAMETOOLONG). Pure. */
int hm_isolate_nodes(const struct hm_plan *plan, const struct hm_topology *topology, char *out, size_t size);

/* A value of LD_PRELOAD without `library`; colons and spaces separate, as for the loader. Returns `value`. Pure. */
char *hm_isolate_strip(char *value, const char *library);

#endif
