/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of job 7, played as Slurm runs them, each in a world of its own (lifeworld.h), and what must hold behind them.
 */
#ifndef LIFEPLAY_H
#define LIFEPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define RUNS 2 /* runs of a job that is requeued */

/*
 * The events of a life, in their order; a capital letter: with the fault.
 * p: prolog, x: extern step, s: step, t: another step, which wants another value of the setting, e: epilog, r: the job
 * is requeued, and no epilog runs, q: a prolog that takes so long that the epilog runs meanwhile, o: the end of the
 * other job, n: no epilog, but a reap that finds the job dead.
 */
struct life {
    const char *events, *request;
    const char *lines;      /* of hybridmem.conf */
    bool has_no_cgroup;     /* the node has cgroup v1 */
    bool is_refused;        /* the request is, by a rule */
    bool has_company;       /* another job has changed the setting before */
    bool waits;             /* there is no folder of records until all has ended */
    bool is_one_by_a_fault; /* with a fault, both runs may have one record */
};

/* What became of a life. */
struct outcome {
    bool was_entered[RUNS]; /* the ledger had this run, for a record */
    bool is_allowed;        /* a step was given what is refused */
};

/* Plays the life, with the fault that is armed. Then the fault is gone, and a reap runs. */
void life_play(const struct life *life, struct outcome *outcome);

/*
 * The ledger is empty then, each run that it had has one record, the node's settings are as before, and nobody was
 * given what is refused. Returns NULL, or what is wrong. `has_fault`: the life met its fault; `was_killed`: that was a
 * kill.
 */
const char *life_check(const struct life *life, const struct outcome *outcome, bool has_fault, bool was_killed);

#endif
