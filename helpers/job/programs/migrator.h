/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step's migrator on this node: one hybridmem-migrator for all tasks of the step, started by slurmstepd. It starts as
 * root and becomes the job's user itself (base/spawn.h says why). It runs in slurmstepd's own cgroup of the step: so it
 * is charged to the job and ends with it. It ends by itself when the step's tasks are gone (it watches --guard). It is
 * also stopped when the last task ends, as Slurm waits for all processes of that cgroup.
 */
#ifndef HM_JOB_PROGRAMS_MIGRATOR_H
#define HM_JOB_PROGRAMS_MIGRATOR_H

#include "job/ledger/ledger.h"

struct hm_migrator_facts {
    const struct hm_plan_migration *plan;
    uint32_t job_id, step_id;
    uid_t uid;
    gid_t gid;
    uint64_t reserve_bytes;  /* bytes of the fast tier that stay free for the kernel; 0: the migrator chooses */
    uint64_t end_s;          /* UNIX time at which the job's time limit ends; 0: not known */
    const char *step_cgroup; /* absolute path of the step's cgroup; the tasks are in its child `user` */
    const char *broker;      /* path of the DAMON broker's socket; NULL: there is no broker */
    const char *shares;      /* path of the table of shares (node/fair.h); NULL: the site does not share */
    const struct hm_set *shared_nodes; /* of the whole fast tier; with `shares` */
    const char *traffic; /* path of the job's samples file, with the traffic of the tiers; NULL: there is none */
    const char *load;    /* path of the tiers' latencies under load, for plans with HM_CURVES_FILE */
};

#define HM_MIGRATOR_WORDS 72
struct hm_migrator_command {
    int count;
    char *word[HM_MIGRATOR_WORDS + 1]; /* point into `text`; NULL-terminated */
    size_t used;
    char text[4096];
};

/* Builds the command line. Returns 0, or -1 (E2BIG). Pure. */
int hm_migrator_command(const struct hm_migrator_facts *facts, struct hm_migrator_command *command,
                        struct hm_error *error);

/*
 * A migrator is started in three parts, as the lock must not be held while a program starts: begin, launch, note.
 *
 * hm_migrator_begin takes the figures that an earlier run of the step has left, and a place in the entry for the
 * migrator that this process is about to start; it writes the entry. The job then is one of those that share the fast
 * tier; `cap_bytes` is what this migrator may keep there (0: no cap). The caller holds the lock. Returns 0, or -1 with
 * a text.
 */
int hm_migrator_begin(const struct hm_config *config, struct hm_job *job, uint32_t step_id, uint64_t cap_bytes,
                      struct hm_error *error);
/*
 * Starts the program. `process` identifies it for hm_migrator_stop; it may have ended already (pid 0). Do not hold the
 * lock. Returns 0, or -1 with a text and nothing left behind.
 */
int hm_migrator_launch(const struct hm_config *config, const struct hm_migrator_facts *facts,
                       struct hm_process *process, struct hm_error *error);
/*
 * Puts the process into its place in the entry, which was read again meanwhile; NULL or pid 0: frees the place. The
 * caller writes the entry. Where all places are in use, the migrator is not noted: it ends when the step's tasks
 * are gone (--guard).
 */
void hm_migrator_note(const struct hm_config *config, struct hm_job *job, uint32_t step_id,
                      const struct hm_process *process);

/*
 * Asks the migrator to end, and does not wait. A task calls this where its user has chosen another placement
 * (--mem-bind).
 */
void hm_migrator_dismiss(const struct hm_process *process);

/* Ends the migrator, by force if need be. Waits up to 20 s: do not hold the lock. Returns 0, or -1 with a text. */
int hm_migrator_stop(const struct hm_process *process, struct hm_error *error);

/* Is there still a file of figures of this step? They may be in the entry already: the file is removed last. */
bool hm_migrator_has_left(const struct hm_config *config, uint32_t job_id, uint32_t step_id);

/*
 * Takes the figures that a step's migrator left into the entry, with warnings that explain them; writes the entry;
 * removes the file. If it is killed at any point, the next call neither loses the figures nor adds them twice. If an
 * earlier call was killed before it removed its file, of whichever step, this call removes that file first. The caller
 * holds the lock. Returns 0, also if the step has no file, or -1 with a text. After -1, `job` may have the figures
 * while the file still exists: write the entry, and call this again to remove the file.
 */
int hm_migrator_collect(const struct hm_config *config, struct hm_job *job, uint32_t step_id, struct hm_error *error);
/* Does the same for all steps of the job, up to the first error. */
int hm_migrator_collect_all(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
