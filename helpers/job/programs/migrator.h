/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step's migrator on this node: one hybridmem-migrator for all its tasks, started by slurmstepd as the job's user. It
 * stays in slurmstepd's own cgroup of the step, so it is charged to the job and gone with it. It ends by itself when
 * the step's tasks are gone (the guard), and is stopped when the last task ends: Slurm waits for what is left there.
 */
#ifndef HM_JOB_PROGRAMS_MIGRATOR_H
#define HM_JOB_PROGRAMS_MIGRATOR_H

#include "job/ledger/ledger.h"

struct hm_migrator_facts {
    const struct hm_plan_migration *plan;
    uint32_t job_id, step_id;
    uid_t uid;
    gid_t gid;
    uint64_t reserve_bytes;  /* of the fast tier, kept for the kernel; 0: the migrator's choice */
    uint64_t end_s;          /* when the job's time is over, UNIX; 0: not known */
    const char *step_cgroup; /* absolute; its part `user` has the tasks */
    const char *broker;      /* the DAMON broker's socket, NULL: there is none */
};

#define HM_MIGRATOR_WORDS 48
struct hm_migrator_command {
    int count;
    char *word[HM_MIGRATOR_WORDS + 1]; /* NULL-terminated, into `text` */
    size_t used;
    char text[4096];
};

/* The command line. Returns 0, or -1 (E2BIG). Pure. */
int hm_migrator_command(const struct hm_migrator_facts *facts, struct hm_migrator_command *command,
                        struct hm_error *error);

/*
 * Start it, and note it in the entry (the caller writes that). Wants the lock. `process` gets what to stop. Returns 0,
 * or -1 with a text and nothing left.
 */
int hm_migrator_start(const struct hm_config *config, const struct hm_migrator_facts *facts, struct hm_job *job,
                      struct hm_process *process, struct hm_error *error);

/* Tell it to end, without waiting: the calling task, of the same user, has another placement. */
void hm_migrator_dismiss(const struct hm_process *process);

/* End it, by force if need be; at most 20 seconds. Not with the lock. Returns 0, or -1 with a text. */
int hm_migrator_stop(const struct hm_process *process, struct hm_error *error);

/* Are there figures of this step that nobody has taken? */
bool hm_migrator_has_left(const struct hm_config *config, uint32_t job_id, uint32_t step_id);

/*
 * Take the figures that the migrator of a step left into the entry, with what a reader of the record should know of
 * them; write the entry; remove their file. Whoever is killed in between, the next call neither loses them nor has
 * them twice. No file: nothing happens. Wants the lock. Returns 0, or -1 with a text: `job` has them, and the file is
 * there until an entry that has them is written and read again.
 */
int hm_migrator_collect(const struct hm_config *config, struct hm_job *job, uint32_t step_id, struct hm_error *error);
/* The same for all steps of the job, up to the first error. */
int hm_migrator_collect_all(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
