/* SPDX-License-Identifier: Apache-2.0 */
/* Plays lives of job 7 as Slurm runs them, each in a world of its own (lifeworld.h), and checks what must hold after
 * them. */
#ifndef LIFEPLAY_H
#define LIFEPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define RUNS 2 /* runs of a job that is requeued */

/*
 * The events of a life, one letter each, in their order. A capital letter: this event can meet the fault.
 *
 * - p: prolog
 * - q: a prolog that takes so long that the epilog runs meanwhile
 * - x: extern step
 * - s: batch step
 * - t: another step, which wants another value of the node's setting (world_setting)
 * - e: epilog
 * - r: the job is requeued, and no epilog runs
 * - n: no epilog runs, but a reap that finds the job dead
 * - o: the end of another job (has_company)
 */
struct life {
    const char *events, *request;
    const char *lines;   /* of hybridmem.conf */
    bool has_no_cgroup;  /* the node has cgroup v1 */
    bool is_refused;     /* a rule refuses the request */
    bool has_company;    /* another job has changed the setting before */
    bool holds_killed;   /* the kernel holds a process that was killed, for ever */
    bool waits;          /* there is no folder of records until all has ended */
    bool runs_may_merge; /* with a fault, both runs together may have one record, and leave a program */
};

/* What became of a life. */
struct outcome {
    bool was_entered[RUNS]; /* the ledger had an entry of this run, which is to have a record */
    bool is_allowed;        /* a step was given what is refused, or went on without the file systems that it wants */
};

/* Plays the life, with the fault that is armed. Then the fault is gone, and a reap runs. */
void life_play(const struct life *life, struct outcome *outcome);

/*
 * Checks that after the life the ledger is empty, each run that the ledger had has exactly one record, the node's
 * setting is as before, nothing else is left (after a kill, a program may be), and `is_allowed` is false.
 * `runs_may_merge` says what may also be after a fault. Returns NULL, or what is wrong. `has_fault`: the life met its
 * fault; `was_killed`: faults of this life are kills.
 */
const char *life_check(const struct life *life, const struct outcome *outcome, bool has_fault, bool was_killed);

#endif
