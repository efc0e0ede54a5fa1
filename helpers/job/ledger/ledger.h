/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's ledger: one file for each job in <run_dir>/root/jobs (place.h), to which the link <run_dir>/jobs leads.
 * Prolog, slurmstepd, epilog and reap write it; reap reads in it what dead jobs left, and takes that back. All changes
 * are made under one lock (flock), which the kernel releases when its holder dies. Each entry names its fields
 * (base/fields.h), so that another version of hybridmem can read it: jobs survive an upgrade and a downgrade.
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
#define HM_NO_ID UINT32_MAX /* no such id: the job is in no array, or not heterogeneous */

/* A system setting that was changed for a job (node/changes.h). */
struct hm_change {
    char path[96];
    char before[16], after[16];
};

/*
 * A migrator whose figures are not in the entry yet. Its place is free where no process is noted and the starter, if
 * any, does not run. A noted process keeps the place when it has ended, until its figures are taken.
 */
struct hm_step_migrator {
    uint32_t step_id;
    struct hm_process process; /* pid 0: it does not run yet */
    struct hm_process starter; /* the slurmstepd that is starting it, until it has noted the process */
};

/* The job's monitoring group of resctrl (node/mongroup.h). */
struct hm_mongroup {
    bool is_begun;         /* the group may exist, under the job's number and `restart` */
    uint32_t restart;      /* the restart count of the run that it was made for */
    uint64_t made_mono_ns; /* CLOCK_MONOTONIC when it was made, from which on it counts */
    /* why the group is missing or does not count the whole job; "": it does, or none is wanted */
    char why[HM_WARNING];
};

#define HM_GUIDED_MOST 8192 /* sites that a program may have */
#define HM_GUIDED_SITES 32  /* sites that are noted; others are counted */
#define HM_GUIDED_INPUT 64  /* bytes of an input's name, with its end */

/* How the job's memory is guided, as its first task on the node has found out. */
struct hm_guided {
    bool is_known;
    char profile[HM_CONFIG_PATH_MAX], packer[HM_PACKER_NAME]; /* its absolute path, cut where it is longer */
    char input[HM_GUIDED_INPUT];       /* the kind of input that the profile names, cut where it is longer; "": none */
    char why[HM_WARNING];              /* why nothing is guided; "": it is */
    bool is_migrated;                  /* as nothing is guided, memory is placed as with migrate (fallback=migrate) */
    uint32_t step_id;                  /* of the task */
    uint64_t stale_sites, stale_found; /* sites of a profile of another build, and those that the program has, too */
    uint64_t fast_bytes;               /* of the chosen sites at their peaks, in this task */
    uint64_t limit_bytes;              /* of the fast tier, for the sites of each of the task's processes */
    double expected_share;             /* of the task's accesses that the fast tier would serve, by the profile */
    /* online: what the recorders of the step's tasks have seen, and moved */
    bool is_online;
    uint64_t decisions, promoted_bytes, demoted_bytes;
    double seen_share; /* of the sampled accesses that the fast tier served; with `samples` */
    uint64_t samples;  /* behind it; 0: it is not known */
    char source[HM_SOURCE_NAME];
    uint32_t n_sites;               /* chosen; may exceed HM_GUIDED_SITES: only the first ones are in `site` */
    uint64_t site[HM_GUIDED_SITES]; /* their ids */
};

#define HM_PROFILED_FOLDER 256

/* The profile that a step has left on this node: the first one; why there is none is kept until there is one. With
 * method=mbi it is the result of a run. */
struct hm_profiled {
    bool is_known;
    enum hm_method method;
    char plan[HM_REQUEST_TEXT];    /* of mbi: the folder, as the user has named it */
    uint32_t run;                  /* of mbi: its number in the plan */
    char file[HM_CONFIG_PATH_MAX]; /* its path; "": there is none */
    char why[HM_WARNING];          /* why there is none, or not of all tasks on this node; "": it is of all */
    uint64_t period;               /* accesses per sample in the end; 0: samples are taken by time, or there are none */
    char unrated[HM_WARNING];      /* why that is not as rate= has it; "": it is, or no rate was asked for */
    char unsampled[HM_WARNING];    /* why it has no accesses, and guides nothing; "": it has */
};

/*
 * The entry of one job. A new member needs a row in table.c. Entries of versions before it have 0 there, or what
 * hm_job_init sets.
 */
struct hm_job {
    uint32_t job_id, restart;
    uint32_t array_job_id, array_task_id, het_job_id; /* HM_NO_ID: none */
    bool array_is_told; /* slurmctld told the ids of the array; otherwise they are what a step's environment said */
    uint32_t uid, gid;
    char user[64], account[64], partition[64], cluster[64], node[64];
    char request[HM_REQUEST_TEXT]; /* the allocation's option, or the partition's default; "": none */
    bool request_is_default;       /* `request` is the default: if it cannot be met, that is a warning, not a refusal */
    char refusal[HM_ERROR_TEXT];   /* why the prolog refuses the request; "": it does not */
    bool is_entered;               /* the prolog has entered the job: its user, account and request are known */
    bool recorded;                 /* a record is to be written */
    /* CLOCK_REALTIME when the entry was made, by the prolog, or by a step that started without one or before it */
    int64_t start_ns;
    /* UNIX time at which the job's time limit ends, as the prolog was told; 0: not known */
    uint64_t end_s;
    char boot_id[40];
    uint64_t fair_weight; /* for the split of the fast tier, from hybridmem.conf; 1 where nothing is given */
    bool had_company;     /* another job lived on the node at some time during this one */
    bool has_strangers;   /* one of them has no entry: nobody knows whether it is over (node/company.h) */
    bool has_cores;
    struct hm_set cores;        /* of this node, for all steps; `has_cores`: they are known */
    char cgroup[HM_JOB_CGROUP]; /* absolute path of the job's cgroup; "" until a step starts, and with cgroup v1 */
    /* the prolog's cgroup, outside every job: where the monitor is put; "": not known */
    char home_cgroup[HM_JOB_CGROUP];
    struct hm_process prolog; /* hybridmem-job in the job's prolog; it may wait for hours for the wipe of memory */
    struct hm_process monitor;
    struct hm_process monitor_starter; /* the slurmstepd that is starting the monitor, until it has noted the monitor */
    struct hm_process finisher;        /* the process that writes the record and removes the entry */
    bool has_ended;                    /* the job's own epilog was started */
    int64_t end_ns;  /* CLOCK_REALTIME of the job's end, for its record; 0: nobody has claimed the entry yet */
    int64_t dead_ns; /* CLOCK_REALTIME when reap found the job dead, or `end_ns`; 0: it lives */
    /* CLOCK_BOOTTIME of the boot `boot_id` when the job was first found dead, or was ended; 0: it lives */
    uint64_t dead_boot_ns;
    bool has_plan;
    struct hm_plan plan;  /* the allocation's plan, or that of the first step with a request */
    uint64_t memory_peak; /* memory.peak of the job's cgroup, in bytes, when a step's last task ended; 0: not known */
    uint64_t peak_before; /* the kernel's peak in an earlier record of this entry (hooks/revive.h), in bytes */
    uint32_t n_steps;     /* may exceed HM_JOB_STEPS: only the first ones are in `step` */
    uint32_t step[HM_JOB_STEPS];
    bool has_exit_status, exit_status_is_final; /* final: from the batch script, or from Slurm itself */
    int32_t exit_status;                        /* wait(2) status of the batch script, else the highest of a task */
    /* the job's finisher ends these; a migrator without a place ends when the step's tasks are gone (--guard) */
    struct hm_step_migrator migrator[HM_JOB_MIGRATORS];
    struct hm_migration migration;
    /* `migration` has the figures of `taken_step`; its file may still exist, and must not be read again */
    bool has_taken;
    uint32_t taken_step;
    struct hm_job_namespaces namespaces;
    struct hm_mongroup mongroup;
    struct hm_guided guided;
    struct hm_profiled profiled;
    uint32_t n_changes;
    struct hm_change change[HM_JOB_CHANGES];
    uint32_t n_warnings;
    char warning[HM_JOB_WARNINGS][HM_WARNING];
};

/* Makes a new entry: no ids of arrays or heterogeneous jobs, this boot, the present time. */
void hm_job_init(struct hm_job *job, uint32_t job_id);

/*
 * Locks the ledger, and creates its folder as needed (place.h). Waits up to 20 s for other holders (ETIMEDOUT). While
 * the lock is held, no program can be started (base/heldlock.h). Returns a descriptor for hm_ledger_unlock, or -1.
 */
int hm_ledger_lock(const struct hm_config *config, struct hm_error *error);
/* Unlocks the ledger and closes the descriptor. Does nothing for -1. */
void hm_ledger_unlock(int lock);

/*
 * Reads the job's entry, and checks its owner, mode, size and every field. Returns 0, or -1: ENOENT where there is no
 * entry; EBADMSG where it is torn, too large or of another job, or this version does not understand it; EPERM where it
 * is not a regular file, or where its owner or mode, or that of a folder above it, is wrong; or another errno where it
 * cannot be opened or read. The caller holds the lock, also for the next three functions. Who only looks may read
 * without it: an entry is replaced as a whole.
 */
int hm_ledger_read(const struct hm_config *config, uint32_t job_id, struct hm_job *job, struct hm_error *error);
/*
 * Replaces the entry, whole or not at all. Fields that another version put into the entry of this run are kept. Returns
 * 0 or -1.
 */
int hm_ledger_write(const struct hm_config *config, const struct hm_job *job, struct hm_error *error);
/* Removes the entry, the samples file, the epilog's file and the figures of migrators. Returns 0, also where they are
 * gone, or -1. */
int hm_ledger_remove(const struct hm_config *config, uint32_t job_id, struct hm_error *error);
/* Lists the ids of the jobs in the ledger. The caller frees *ids. Returns their number, or -1: also where
 * only some could be read, so that no job is missing. */
int hm_ledger_list(const struct hm_config *config, uint32_t **ids, struct hm_error *error);

/* Writes <run_dir>/jobs/<job_id>.samples into `out`, and returns `out`. Whoever opens files by paths goes through the
 * link, so that the path holds wherever the folder is. */
char *hm_ledger_samples_path(const struct hm_config *config, uint32_t job_id, char *out, size_t size);
/* Writes <run_dir>/jobs into `out`, and returns `out`; see above. */
char *hm_ledger_folder_path(const struct hm_config *config, char *out, size_t size);

/*
 * A prolog that has waited checks here whether its job has ended meanwhile. `now` is the entry that it has read again:
 * it must be of the same run as `job`, and no process may have begun to end the job. Returns 0, or -1 (ESTALE). Pure.
 */
int hm_job_check_begun(const struct hm_job *now, const struct hm_job *job, struct hm_error *error);

/* Adds a step's id, unless it is kept already. The first HM_JOB_STEPS ids are kept, all steps are counted. */
void hm_job_add_step(struct hm_job *job, uint32_t step_id);
/* Adds a warning (printf style); a long one ends after a word (base/fit.h). One that is there already is dropped. Where
 * there is no room, it takes the last place, and says that others are left out. */
void hm_job_warn(struct hm_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
