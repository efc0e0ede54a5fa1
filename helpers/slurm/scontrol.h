/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slurm's scontrol: the one place that runs it and reads what it says. It tells what Slurm does not tell a plugin, and
 * it drains a node, which no return code of a plugin does. It gets SLURM_CONF of the environment and nothing else, and
 * 20 seconds.
 */
#ifndef HM_SLURM_SCONTROL_H
#define HM_SLURM_SCONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/set.h"
#include "cores.h"

/* Find it in the usual folders; PATH is not asked, it may be somebody else's. Returns 0, or -1 (ENOENT). */
int hm_scontrol_find(char *path, size_t size);

/*
 * Ask the scontrol at `path` (absolute) for Slurm's configuration: `scontrol show config`. Its lines are in `text`
 * (`size` bytes), terminated, for hm_scontrol_value. Returns 0, or -1 with a text that ends in its first line.
 */
int hm_scontrol_config(const char *path, char *text, size_t size, struct hm_error *error);

/*
 * Copy the value of the first line "NAME = value" or "NAME[N] = value" from `at` on; "" where there is none, cut where
 * it is too long. Returns where to go on for the next one, or NULL where there is none. Pure.
 */
const char *hm_scontrol_value(const char *at, const char *name, char *value, size_t size);

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
