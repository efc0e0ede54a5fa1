/* SPDX-License-Identifier: Apache-2.0 */
/* Asks Slurm whether a job runs, and for its QOS, by Slurm's squeue: of a job's state, scontrol tells only after the
 * job's name, which its user may have made look like one. */
#ifndef HM_SLURM_SQUEUE_H
#define HM_SLURM_SQUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Does the job run on the node ("": on any), by what slurmctld says? One that is suspended or about to end (COMPLETING)
 * counts as running; one that waits to run again (PENDING) does not. slurmctld has 2.5 s to answer. Returns 1; 0, also
 * where slurmctld does not know the job (any more); or -1 with a text where there is no answer.
 */
int hm_squeue_is_running(uint32_t job_id, const char *node, struct hm_error *error);

/*
 * Reads that from the output of `squeue --noheader --format='%A %T'`, a line for each task where the number is that of
 * an array. Pure. Returns 1 or 0.
 */
int hm_squeue_parse(const char *text, uint32_t job_id);

/* Asks for the name of the job's QOS, which slurmd does not tell a prolog. slurmctld has 2.5 s to answer. Returns 0, or
 * -1 with a text: also where the job has none, or its name does not fit. */
int hm_squeue_qos(uint32_t job_id, char *qos, size_t size, struct hm_error *error);

/* Reads that from the output of `squeue --noheader --format='%A %q'`. Pure. Returns 0, or -1 (ENODATA). */
int hm_squeue_parse_qos(const char *text, uint32_t job_id, char *qos, size_t size, struct hm_error *error);

/*
 * Finds the job that waits for the node to boot, which has the node for itself. `comment` gets its AdminComment, "" for
 * none, cut where it is too long. slurmctld has 20 s to answer. Returns 1; 0 where there is none; or -1 with a text.
 */
int hm_squeue_configuring(const char *node, uint32_t *job_id, char *comment, size_t size, struct hm_error *error);

/* Reads that from the output of `squeue --noheader --Format=JobID:12,admin_comment:64`. Pure. Returns 1 or 0. */
int hm_squeue_parse_comment(const char *text, uint32_t *job_id, char *comment, size_t size);

#endif
