/* SPDX-License-Identifier: Apache-2.0 */
/* A job that ended, as slurmctld describes it in the environment of EpilogSlurmctld. Every number is parsed whole and
 * checked against a range. The cluster's name may only contain letters, digits and ._-@+, which mean nothing to a shell
 * or a terminal and do not divide a path; a list of nodes may have brackets and commas, but neither @ nor +. */
#ifndef HM_COLLECT_SPOOLENTRY_H
#define HM_COLLECT_SPOOLENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/config/config.h"

#define HM_SPOOL_SCHEMA 1
#define HM_SPOOL_NAME 64           /* bytes of a cluster's name, with its end */
#define HM_SPOOL_NODES 65536       /* bytes of the longest node list as Slurm writes it, with its end */
#define HM_SPOOL_ABSENT UINT64_MAX /* slurmctld gives no such number for this job */

struct hm_spool_entry {
    uint64_t job_id;
    uint64_t array_job_id, array_task_id; /* HM_SPOOL_ABSENT: not an array job */
    uint64_t het_job_id, het_job_offset;  /* HM_SPOOL_ABSENT: not heterogeneous */
    uint64_t restart_count; /* slurmctld's count at the time of the epilog; after a requeue it is already that of the
                               next run */
    uint64_t uid;
    uint64_t start_s, end_s; /* UNIX time. Before Slurm 23.02 slurmctld gives neither: start_s is then HM_SPOOL_ABSENT,
                                end_s the time of the call */
    char cluster[HM_SPOOL_NAME]; /* "": slurmctld does not say */
    const char *nodes;           /* Slurm's list; belongs to the environment */
    /* a record is expected: the job's mode, or its partition's where it gives none, is valid and not off; or all jobs
     * are recorded */
    bool is_asked;
};

/* Gets the value of a variable, or NULL where it is not set. */
typedef const char *hm_spool_lookup(const char *name, void *data);

/*
 * Read the entry, variable by variable, through `lookup`. `now_s` is taken as the job's end where slurmctld does not
 * give one. Returns 0; 1 where the job had no node, so that there is nothing to collect; or -1 (EINVAL) with a text
 * that names the variable. Pure.
 */
int hm_spool_entry_read(struct hm_spool_entry *entry, const struct hm_config *config, hm_spool_lookup *lookup,
                        void *data, uint64_t now_s, struct hm_error *error);

/* Write the entry as one line of JSON without a newline. The caller frees it; NULL where memory ran out. Pure. */
char *hm_spool_entry_format(const struct hm_spool_entry *entry);

#endif
