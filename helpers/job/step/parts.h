/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of hm_step_prepare share. Internal to this folder. */
#ifndef HM_JOB_STEP_PARTS_H
#define HM_JOB_STEP_PARTS_H

#include "core/config/identity.h"
#include "step.h"

/* Why there is neither a monitor nor a migrator: where Slurm is not set up as hybridmem needs it. */
#define HM_STEP_NO_CGROUP                                                                                              \
    "slurmstepd is in no cgroup of a step, for which Slurm needs cgroup v2 and ProctrackType=proctrack/cgroup"

/* What hm_step_prepare has found out so far. */
struct hm_preparation {
    const struct hm_step_facts *facts;
    const char *option; /* this step's option; NULL: the job's request applies */
    struct hm_step *step;
    struct hm_job *job;
    bool has_ledger;
    bool must_start_monitor; /* the job has no monitor, and this process is to start it */
    bool has_entry;          /* the job had an entry when it was looked for, before the lock */
    bool knows_user;
    struct hm_identity user;
    uint32_t usable_cores;  /* of the node (node/usable.h); 0: not needed, or not known */
    struct hm_set job_cpus; /* what the job's cgroup allows, or all that the node allows */
    struct hm_plan_migration migration;
    uint64_t reserve_bytes;
    struct hm_error config_error, tiers_error, user_error; /* "": no error */
    struct hm_error group_doubt;                           /* hm_lookup_doubts; "": none */
};

/* Sets the refusal, unless there is one: the user reads the first. */
void hm_step_refuse(struct hm_step *step, const char *text);

/*
 * If the step may get a plan, finds out what the plan needs to know of the node. Call this after the tiers and the
 * cgroup are read. Do not hold the lock: what is read may be on a file system that hangs, or in a folder whose lock in
 * the kernel a user holds. Uses p->job to look at the job's request.
 */
void hm_step_learn(struct hm_preparation *p);

/*
 * Makes the plan of an active step, and the changes for it that only root can make. The caller holds the lock. If
 * there can be no plan, or the prolog has not made the step's file systems, the reason becomes the refusal. If a change
 * cannot be made, the entry gets a warning.
 */
void hm_step_plan(struct hm_preparation *p);

/*
 * Reads the entry again into p->job. Fails where it is of another run of the job, or where somebody has begun to end
 * the job, as nobody would end a program that was started now. `loss` is for the text: what the job does not get then.
 * The caller holds the lock. Returns 0, or -1 with a text.
 */
int hm_step_read_again(struct hm_preparation *p, const char *loss, struct hm_error *error);

/*
 * Notes in the entry whether the job gets a record. For one that does, makes the resctrl group, and notes in the entry
 * that this process is to start the job's monitor, if none is there and one is wanted. Where the job's cgroup or the
 * node's tiers are not known, makes and notes neither, and warns in the entry. The caller holds the lock, writes the
 * entry, and then calls hm_step_watch if `must_start_monitor` is set.
 */
void hm_step_begin_watch(struct hm_preparation *p);
/*
 * Starts the monitor, and notes in the entry that it runs, or warns there why it does not. Do not hold the lock.
 * Returns 0, or -1 with a text if the entry could not be changed; no monitor of this call runs then.
 */
int hm_step_watch(struct hm_preparation *p, struct hm_error *error);

/*
 * Starts the DAMON broker, which the migrator may need, then the migrator. Do not hold the lock. Notes and returns as
 * hm_step_watch does.
 */
int hm_step_migrate(struct hm_preparation *p, struct hm_error *error);

/*
 * Starts the broker for a step whose recorders sample, where its user may open no events of their own: it lends these,
 * where the site lets it, and DAMON to the recorders that may look by it (hm_profiled_may_look). Where it cannot be
 * started, the step goes on, and the recorders say why they have no samples. Do not hold the lock.
 */
void hm_step_lend(const struct hm_preparation *p);

#endif
