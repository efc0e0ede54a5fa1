/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs Slurm's scontrol, and parses its output. All C code that needs scontrol uses these functions. scontrol tells
 * what Slurm does not tell plugins, and can drain a node without failing the job (program.h runs it). scontrol has 20 s
 * for an answer where nothing else is said.
 */
#ifndef HM_SLURM_SCONTROL_H
#define HM_SLURM_SCONTROL_H

#include <stddef.h>

#include "base/set.h"
#include "cores.h"

/* Run `scontrol show config` with the scontrol at `path` (absolute). `text` (`size` bytes) gets the output, terminated,
 * for hm_scontrol_value. Returns 0, or -1 with `error`; where scontrol itself failed, `error` ends in the first line
 * that it wrote. */
int hm_scontrol_config(const char *path, char *text, size_t size, struct hm_error *error);

/* Copy the value of the first line "NAME = value" or "NAME[N] = value" from `at` on. A value that is too long is cut;
 * "" where there is no such line. Returns where to look for the next line, or NULL where there was none. Pure. */
const char *hm_scontrol_value(const char *at, const char *name, char *value, size_t size);

/* Drain the node, so that no job starts there until a person has looked at it. Returns 0 or -1. */
int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *error);

/* Tell slurmctld which features, a list with commas, the node has now. Returns 0 or -1. */
int hm_scontrol_activate(const char *node, const char *features, struct hm_error *error);

/* Tell slurmctld which features, a list with commas of at most 1023 bytes, the node could have: jobs that ask for
 * another are not sent there. Holds until slurmd reports to slurmctld. Returns 0 or -1. */
int hm_scontrol_offer(const char *node, const char *features, struct hm_error *error);

/* Write the AdminComment of the job with this name, as of hm_scontrol_name: by the number of an array or of a
 * heterogeneous job, Slurm would write that of all its jobs. Returns 0 or -1. */
int hm_scontrol_comment(const char *name, const char *comment, struct hm_error *error);

/* Ask Slurm for the name with which it shows this job alone: "12", "12_3" (task of an array) or "12+1" (component of a
 * heterogeneous job). `likely`, unless it is NULL, is a name that the job may have, and is asked for first. It is for
 * the last task of an array: its job id is also the array's, and for that Slurm shows the whole array. Each question
 * has 2.5 s. Returns 0 or -1. */
int hm_scontrol_name(uint32_t job_id, const char *likely, char *name, size_t size, struct hm_error *error);

/* Ask Slurm for the CPUs that the job has on the node, in Slurm's numbering. Returns 0 or -1. */
int hm_scontrol_cpus(uint32_t job_id, const char *node, struct hm_set *cpus, struct hm_error *error);

/* Ask slurmctld for what it has of a node, in one line. Returns 0 or -1. */
int hm_scontrol_node(const char *node, char *text, size_t size, struct hm_error *error);

/* Ask which nodes slurm.conf has on a host of exactly this name (NodeHostname): their names with blanks between them,
 * or nothing. slurmctld is not asked. Returns 0 or -1. */
int hm_scontrol_aliases(const char *host, char *text, size_t size, struct hm_error *error);

/* Ask Slurm how it counts the node's cores. Returns 0 or -1. */
int hm_scontrol_numbering(const char *node, struct hm_numbering *numbering, struct hm_error *error);

/* Ask Slurm how many cores of the node jobs can have, in its own count: those of slurm.conf without specialized ones
 * (CoreSpecCount, CpuSpecList). slurmctld has 2.5 s to answer. Returns 0 or -1. */
int hm_scontrol_usable(const char *node, unsigned *cores, struct hm_error *error);

/* Read that count from the output of `scontrol show node -o`. Returns 0, or -1 (EINVAL). */
int hm_scontrol_parse_usable(const char *text, unsigned *cores, struct hm_error *error);

/* Read that numbering from the output of `scontrol show node -o`. Returns 0, or -1 (EINVAL). */
int hm_scontrol_parse_numbering(const char *text, struct hm_numbering *numbering, struct hm_error *error);

/*
 * Find the first job in the output of `scontrol show job -o`, which has to be `job_id`. `name` gets its name, as of
 * hm_scontrol_name. All that is read here stands before any text that users choose. Pure. Returns 0, or -1 (EINVAL).
 */
int hm_scontrol_parse_job(const char *text, uint32_t job_id, char *name, size_t size, struct hm_error *error);

/*
 * Read the job's CPUs from the output of `scontrol show job -d -o`: "Nodes=n[1-2] CPU_IDs=0-3", once for each group of
 * nodes with the same CPUs. Users have texts in there, the job's name among them. So `text` has to be whole and of one
 * job; where it names CPUs of the node twice, none are believed (EBADMSG). No other form serves every Slurm: scontrol
 * has JSON only since 23.02, in several forms, and only where Slurm's plugins for it are installed; libslurm does not
 * tell a job's CPUs after 24.05. Pure. Returns 0, or -1.
 */
int hm_scontrol_parse_cpus(const char *text, const char *node, struct hm_set *cpus, struct hm_error *error);

#endif
