/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated node, on which tests play the life of job 7, from prolog to epilog, with faults (lifeplay.h): functions
 * that stand for programs, persistent memory and cgroups (lifeanswers.c has those for Slurm and the directory service).
 * Their state is in the scratch folder and in `world`; which programs run is known to lifeworld.c alone.
 */
#ifndef LIFEWORLD_H
#define LIFEWORLD_H

#include <stdbool.h>

#include "core/config/config.h"

#define JOB 7
#define OTHER 8 /* another job on the node */
/* The value of the node's setting (world_setting) before any job changes it. All values have one digit, so that a write
 * replaces the one before. */
#define UNCHANGED "1"

struct world {
    struct hm_config config;
    bool job_runs;           /* job 7 has processes on the node */
    bool has_cgroup;         /* the processes that run now are in a cgroup of version 2 */
    const char *step;        /* folder of the step that runs now; NULL: none runs */
    const char *wanted;      /* the value that the step wants the setting to have */
    bool has_namespaces;     /* the job has persistent memory */
    bool holds_killed;       /* the kernel holds processes that were killed: they still count as running */
    void (*meanwhile)(void); /* called once while its persistent memory is made */
    bool was_planned;        /* a step was given what it had asked for */
};
extern struct world world;

/* A new node, with lines for its hybridmem.conf. Returns 0 or -1. */
int world_make(const char *lines);
/* The file that stands for a setting of the node, and the node's hybridmem.conf. */
const char *world_setting(void);
const char *world_config_path(void);
/* The job gets processes, with a cgroup of version 2 or without; world_stop: it has none any more. */
void world_start(int job_id, bool has_cgroup);
void world_stop(int job_id);
/* How many programs run that were started for the job? */
int world_programs(void);

#endif
