/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's scontrol, for what a plugin is not told, and what no return code of one says. */
#ifndef HM_SLURM_SCONTROL_H
#define HM_SLURM_SCONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/set.h"
#include "cores.h"

/* Find it in the usual folders; PATH is not asked, it may be somebody else's. Returns 0, or -1 (ENOENT). */
int hm_scontrol_find(char *path, size_t size);

/* Drain the node, so that no job starts there until a person has looked at it. Returns 0 or -1. */
int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *error);

/* Ask for the CPUs that the job has on the node, in Slurm's numbering. Returns 0 or -1. */
int hm_scontrol_cpus(uint32_t job_id, const char *node, struct hm_set *cpus, struct hm_error *error);

/* Ask how Slurm counts the node's cores. Returns 0 or -1. */
int hm_scontrol_numbering(const char *node, struct hm_numbering *numbering, struct hm_error *error);

/* The same from what `scontrol show node -o` says. Returns 0, or -1 (EINVAL). */
int hm_scontrol_parse_numbering(const char *text, struct hm_numbering *numbering, struct hm_error *error);

/* Is `node` one of `nodes`, as Slurm writes lists of nodes? */
typedef bool hm_has_node(const char *nodes, const char *node);

/*
 * The same from what `scontrol show job -d -o` says of this job: "Nodes=n[1-2] CPU_IDs=0-3", for each group of nodes
 * that have the same. Returns 0, or -1 (EINVAL).
 */
int hm_scontrol_parse_cpus(const char *text, uint32_t job_id, const char *node, hm_has_node *has_node,
                           struct hm_set *cpus, struct hm_error *error);

#endif
