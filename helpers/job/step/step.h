/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job step on this node. hm_step_prepare runs as root in slurmstepd before the tasks are made: it brings the ledger
 * up to date, decides what the step gets, and does what only root can. What it leaves in struct hm_step is plain data
 * that the tasks inherit over fork (task.h).
 */
#ifndef HM_JOB_STEP_STEP_H
#define HM_JOB_STEP_STEP_H

#include "job/ledger/ledger.h"
#include "slurm/stepname.h"

struct hm_step_facts {
    const char *config_path;
    uint32_t job_id, step_id;
    uint32_t n_tasks;                     /* of this step on this node */
    uint32_t restart;                     /* 0 also where Slurm does not tell (24.11: never) */
    uint32_t array_job_id, array_task_id; /* HM_NO_ID: none */
    uid_t uid;
    gid_t gid;
    const char *option;       /* this step's option text, NULL: not given */
    bool option_is_inherited; /* it came, or may have come, from the environment: the job's script was submitted with it
                               */
    uint64_t end_s;           /* when the job's time is over, UNIX, as the job's environment has it; 0: not known */
    const char *cores;        /* Slurm's list of the job's cores on this node, NULL: not known */
};

struct hm_memory_policy {
    int mode; /* of set_mempolicy(2), with its flags */
    struct hm_set nodes;
};

struct hm_step {
    struct hm_config config;
    struct hm_tiers tiers;
    struct hm_abilities abilities; /* as the tasks have them: the weights as they are now, and not to be changed */
    struct hm_request request;
    bool is_active;              /* there is a request, and it is not "off" */
    bool is_asked;               /* the user made it: what he cannot have ends the step */
    char refusal[HM_ERROR_TEXT]; /* "" none; the tasks end with it */
    uint32_t job_id, step_id, n_tasks;
    struct hm_job_namespaces namespaces; /* of the job: all its steps see them, whatever their own mode */
    struct hm_mongroup mongroup;         /* of the job: its tasks go there, whatever their mode */
    struct hm_process migrator;          /* of the step on this node; pid 0: none was started */
    char mount_error[HM_ERROR_TEXT];     /* of a task, in its own process; "" none */
    struct hm_memory_policy inherited;   /* slurmstepd's own: a task that has another was given it by the user */
};

/*
 * Prepare. `step` is zeroed. Returns 0, or -1 with a text for the log: something outside what the user asked for
 * went wrong, and the step goes on as far as it can.
 */
int hm_step_prepare(const struct hm_step_facts *facts, struct hm_step *step, struct hm_error *error);

/* The calling thread's memory policy. */
void hm_memory_policy_get(struct hm_memory_policy *policy);

/*
 * The step is over: end its migrator and take its figures where no task's end has done that (the launch failed, or
 * slurmstepd had no shared memory to count ends in). Returns 0, or -1 with a text for the log.
 */
int hm_step_end(const struct hm_step *step, struct hm_error *error);

#endif
