/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that ended, as slurmctld tells its EpilogSlurmctld by the environment. Every value is parsed whole and has a
 * range; names are of bytes that mean nothing to a shell, a path or a terminal.
 */
#ifndef HM_COLLECT_SPOOLENTRY_H
#define HM_COLLECT_SPOOLENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/config/config.h"

#define HM_SPOOL_SCHEMA 1
#define HM_SPOOL_NAME 64
#define HM_SPOOL_NODES 65536       /* bytes of a node list, as Slurm writes it */
#define HM_SPOOL_ABSENT UINT64_MAX /* a number that slurmctld does not tell for this job */

struct hm_spool_entry {
    uint64_t job_id;
    uint64_t array_job_id, array_task_id; /* HM_SPOOL_ABSENT: no array */
    uint64_t het_job_id, het_job_offset;  /* HM_SPOOL_ABSENT: not heterogeneous */
    uint64_t restart_count; /* as slurmctld has it by now: already that of the next run where it requeued */
    uint64_t uid;
    uint64_t start_s, end_s;     /* UNIX; start HM_SPOOL_ABSENT before Slurm 23.02, where end is the time of the call */
    char cluster[HM_SPOOL_NAME]; /* "" not told */
    const char *nodes;           /* Slurm's list; belongs to the environment */
    bool is_asked;               /* for hybrid memory: a record is to be expected */
};

/* The value of a variable, NULL where there is none. */
typedef const char *hm_spool_lookup(const char *name, void *data);

/*
 * Read the entry through `lookup`. `now_s` is the end where slurmctld tells none. Returns 0; 1 where the job had no
 * node, and so has nothing to be collected; or -1 (EINVAL) with a text that names the variable. Pure.
 */
int hm_spool_entry_read(struct hm_spool_entry *entry, const struct hm_config *config, hm_spool_lookup *lookup,
                        void *data, uint64_t now_s, struct hm_error *error);

/* The entry as one line of JSON without a newline, which the caller frees; NULL where memory ran out. Pure. */
char *hm_spool_entry_format(const struct hm_spool_entry *entry);

#endif
