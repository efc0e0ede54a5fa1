/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reap of a ledger with job 7. The functions for persistent memory, Slurm, cgroups and monitors that the reap calls
 * are defined in reapfixture.c. A test program must link with --wrap for hm_ledger_read.
 */
#ifndef REAPFIXTURE_H
#define REAPFIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "job/ledger/ledger.h"

/* State of a test. reap_set_up resets all of it but `sought_grace_s` and `n_reads`. */
extern struct hm_config config;
extern struct hm_job job;
extern int left_by;               /* errno if namespaces that belong to no job cannot be removed; 0: they are removed */
extern bool is_living, can_drain; /* the search for the job finds it alive; a drain works */
extern unsigned sought_grace_s;   /* the grace with which a job's cgroup was looked for last */
extern bool is_used_again;        /* another run uses the job's number while the job's cgroup is looked for */
extern int n_reaped, n_reads;     /* reaps of namespaces; reads of the ledger's entries */
extern int n_asked;               /* questions whether the job runs */
extern int running_by_slurm;      /* the answer to these: 1 or 0; -1: there is none */
extern uid_t monitors;            /* the monitors' system user */
extern char drained[HM_ERROR_TEXT]; /* "NODE: REASON" of the last drain; "": none */

/* Set-up for cmocka: job 7 lives, and has an entry in which no cgroup is noted. */
int reap_set_up(void **state);

/* Runs a reap with a grace of 60 s. `node` is the node to drain (NULL: none). */
void reap(const char *node, bool is_config_known);

#endif
