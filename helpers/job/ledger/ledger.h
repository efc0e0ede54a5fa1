/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's ledger, <run_dir>/jobs (root, 0700): one file per job, changed under one lock that a dead process does not
 * keep (flock). Prolog, slurmstepd and epilog keep it; reap reads it to bring the node to what the living jobs own. An
 * entry describes itself (base/fields.h): jobs that run while hybridmem is upgraded, or put back, keep theirs.
 */
#ifndef HM_JOB_LEDGER_LEDGER_H
#define HM_JOB_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process.h"
#include "core/plan/plan.h"
#include "dax.h"
#include "migration.h"

#define HM_JOB_STEPS 64
#define HM_JOB_CHANGES (HM_MAX_NODES + 8)
#define HM_JOB_MIGRATORS 64
#define HM_JOB_WARNINGS 16
#define HM_JOB_CGROUP 256
#define HM_NO_ID UINT32_MAX /* an id that is not there: array, heterogeneous */

/* A system setting that was changed for a job (node/changes.h). */
struct hm_change {
    char path[96];
    char before[16], after[16];
};

/* A migrator that was started, and whose figures were not taken yet. */
struct hm_step_migrator {
    uint32_t step_id;
    struct hm_process process; /* pid 0: the place is free */
};

/* The job's monitoring group of resctrl (node/mongroup.h). */
struct hm_mongroup {
    bool is_begun;         /* it may be there, under the job's number and `restart` */
    uint32_t restart;      /* of the run that it was made for */
    uint64_t made_mono_ns; /* CLOCK_MONOTONIC: it counts since then */
    char why[HM_WARNING];  /* why it does not count the whole job, or is not there; "" it does, or none is wanted */
};

/* A new member has a row in table.c; it is 0 in entries of versions before it, unless hm_job_init says other. */
struct hm_job {
    uint32_t job_id, restart;
    uint32_t array_job_id, array_task_id, het_job_id; /* HM_NO_ID: none */
    uint32_t uid, gid;
    char user[64], account[64], partition[64], cluster[64], node[64];
    char request[HM_REQUEST_TEXT]; /* the allocation's option, or the partition's default; "" none */
    bool request_is_default;       /* nobody asked for it: what cannot be had is a warning, no refusal */
    char refusal[HM_ERROR_TEXT];   /* the prolog's verdict; "" allowed */
    bool is_entered;               /* by the prolog: who, where, and what is asked for are known */
    bool recorded;                 /* a record is due */
    int64_t start_ns;              /* CLOCK_REALTIME; of the prolog */
    uint64_t end_s;                /* when its time is over, UNIX, as the prolog was told; 0: not known */
    char boot_id[40];
    bool had_company; /* another job lived on the node at some time of this one's */
    bool has_cores;
    struct hm_set cores;             /* of the node, all steps */
    char cgroup[HM_JOB_CGROUP];      /* the job's folder, absolute; "" until a step started */
    char home_cgroup[HM_JOB_CGROUP]; /* where the prolog runs, outside every job: the monitor's place; "" not known */
    struct hm_process monitor;
    struct hm_process finisher; /* the process that writes the record and removes the entry */
    bool has_ended;             /* its own epilog ran, as far as it came */
    int64_t end_ns;  /* CLOCK_REALTIME of the job's end, as its record has it; 0: nobody was at its end yet */
    int64_t dead_ns; /* when reap first found the job without processes, else `end_ns`; 0: it lives */
    bool has_plan;
    struct hm_plan plan;  /* of the allocation, else of the first step that asked */
    uint64_t memory_peak; /* memory.peak of the job's cgroup at the end of a step's last task; 0: not known */
    uint32_t n_steps;     /* may exceed HM_JOB_STEPS: only the first are named */
    uint32_t step[HM_JOB_STEPS];
    bool has_exit_status, exit_status_is_final; /* final: of the batch script, or Slurm's own */
    int32_t exit_status;                        /* wait(2) status of the batch script, else the highest of a task */
    struct hm_step_migrator migrator[HM_JOB_MIGRATORS]; /* those beyond end by their guard alone */
    struct hm_migration migration;
    bool has_taken; /* `migration` has the figures of `taken_step`, whose file may still be there: it is to go unread */
    uint32_t taken_step;
    struct hm_job_namespaces namespaces;
    struct hm_mongroup mongroup;
    uint32_t n_changes;
    struct hm_change change[HM_JOB_CHANGES];
    uint32_t n_warnings;
    char warning[HM_JOB_WARNINGS][HM_WARNING];
};

/* An entry with what is always true of a new one: ids not there, this boot, now. */
void hm_job_init(struct hm_job *job, uint32_t job_id);

/* Lock the ledger (creating its folders root-owned 0700 as needed). Returns a descriptor to give to hm_ledger_unlock,
 * or -1. Waits for other holders, 20 s at most (ETIMEDOUT). */
int hm_ledger_lock(const struct hm_config *config, struct hm_error *error);
void hm_ledger_unlock(int lock);

/* All of these want the lock held. Job files are checked (owner, mode, size, every field) before use. */
int hm_ledger_read(const struct hm_config *config, uint32_t job_id, struct hm_job *job,
                   struct hm_error *error); /* ENOENT: none; EBADMSG: torn, or not understood */
/* Replace the entry, whole or not at all. What another version has put into the entry of this very run stays in it. */
int hm_ledger_write(const struct hm_config *config, const struct hm_job *job, struct hm_error *error);
int hm_ledger_remove(const struct hm_config *config, uint32_t job_id, struct hm_error *error);
/* Job ids in the ledger: *ids is malloc'd, the caller frees it. Returns the count, or -1. */
int hm_ledger_list(const struct hm_config *config, uint32_t **ids, struct hm_error *error);

/* <run_dir>/jobs/<job_id>.samples. Returns `out`. */
char *hm_ledger_samples_path(const struct hm_config *config, uint32_t job_id, char *out, size_t size);
/* The same folder's path without a file. */
char *hm_ledger_folder_path(const struct hm_config *config, char *out, size_t size);

/* For a prolog, which may have waited: is the entry, read `now`, still the one of this `job`, and its end not begun?
 * Returns 0, or -1 (ESTALE). Pure. */
int hm_job_check_begun(const struct hm_job *now, const struct hm_job *job, struct hm_error *error);

/* Is the job alone: its cores are all of `all_cores`, and the ledger has no other job that lives? Wants the lock. */
bool hm_ledger_is_alone(const struct hm_config *config, const struct hm_job *job, const struct hm_set *all_cores);

/* Add a step's id: the first HM_JOB_STEPS are named, all are counted; one that was added before is not added again. */
void hm_job_add_step(struct hm_job *job, uint32_t step_id);
/* Add a warning (printf style); one that is there already, or that finds no room, is dropped. */
void hm_job_warn(struct hm_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
