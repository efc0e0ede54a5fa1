/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job step on this node. hm_step_prepare runs as root in slurmstepd before the tasks exist: it updates the ledger,
 * decides what the step gets, and does what only root can. The result, struct hm_step, is plain data; the tasks inherit
 * it over fork (task.h).
 */
#ifndef HM_JOB_STEP_STEP_H
#define HM_JOB_STEP_STEP_H

#include "job/ledger/ledger.h"
#include "slurm/stepname.h"

struct hm_step_facts {
    const char *config_path;
    uint32_t job_id, step_id;
    uint32_t n_tasks; /* tasks of this step on this node */
    uint32_t n_nodes; /* of this step */
    uint32_t restart; /* 0 also if Slurm does not tell it (24.11 never does) */
    /* HM_NO_ID: none. Those of the batch step come from slurmctld; others may be a user's invention (step.c). */
    uint32_t array_job_id, array_task_id;
    uid_t uid;
    gid_t gid;
    const char *option; /* this step's --hybrid-mem; NULL: not given */
    /* it may be the option of the whole job, which a step inherits by the environment of the job's script */
    bool option_is_inherited;
    /* UNIX time at which the job's time limit ends, from the job's environment; 0: not known */
    uint64_t end_s;
    const char *cores; /* Slurm's list of the job's cores on this node; NULL: not known */
};

struct hm_memory_policy {
    int mode; /* of set_mempolicy(2), with its flags */
    struct hm_set nodes;
};

struct hm_step {
    struct hm_config config;
    struct hm_tiers tiers;
    struct hm_abilities abilities; /* what the tasks can do: use the weights as they are now, but not change them */
    struct hm_request request;
    bool is_active;              /* there is a request, and it is not "off" */
    bool is_asked;               /* the user made the request: if it cannot be met, the step ends */
    char refusal[HM_ERROR_TEXT]; /* why the tasks end; "": they do not */
    uint32_t job_id, step_id, n_tasks;
    uint32_t uid;                        /* the job's user */
    char cgroup[HM_JOB_CGROUP];          /* the job's; "": it is not known */
    struct hm_job_namespaces namespaces; /* the job's; all its steps see them, whatever their mode */
    struct hm_mongroup mongroup;         /* the job's; all its tasks are in it, whatever their mode */
    struct hm_process migrator;          /* the step's on this node; pid 0: none was started */
    char mount_error[HM_ERROR_TEXT];     /* why a mount failed; set in the task's own process; "": none failed */
    uint32_t array_task_id;              /* HM_NO_ID: none */
    int results;                         /* of profile: what recorders leave (profiled.h); 0 or less: none */
    struct hm_memory_policy inherited;   /* slurmstepd's own: a task with another policy got it from the user */
};

/*
 * Prepares the step. `step` must be zeroed. Returns 0, or -1 with a text for the log if something failed: the step goes
 * on as far as it can, unless the failure has led to a refusal (step->refusal).
 */
int hm_step_prepare(const struct hm_step_facts *facts, struct hm_step *step, struct hm_error *error);

/* The calling thread's memory policy. */
void hm_memory_policy_get(struct hm_memory_policy *policy);

/*
 * To be called when the step is over: ends its migrator and takes the figures, unless the end of its last task has done
 * so (it has not if the launch failed, or if slurmstepd had no shared memory to count ended tasks). Returns 0, or -1
 * with a text for the log.
 */
int hm_step_end(const struct hm_step *step, struct hm_error *error);

#endif
