/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces of persistent memory below jobs' DAX file systems. hybridmem-namespace makes and removes them; the
 * functions here run it, and note the result in the ledger's entry. The label of each namespace names the job, or the
 * user who keeps it, so that reap finds what a crash has left. One lock keeps reap from namespaces that are being made.
 * Making and removing may wait while memory is wiped: the clock of hybridmem-job stands still for that time
 * (hooklimit.h).
 */
#ifndef HM_JOB_NAMESPACES_NAMESPACES_H
#define HM_JOB_NAMESPACES_NAMESPACES_H

#include "job/ledger/ledger.h"

/*
 * Makes the namespaces of the job's plan, or finds those that its user keeps. The entry must be in the ledger, with
 * `is_begun` set. Returns 0, or -1 with a text for the user; `is_begun` is then false if nothing was left behind.
 */
int hm_namespaces_make(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

/*
 * Wipes and removes the job's namespaces, unless its user keeps them. Can be repeated after a crash. With `waits` it
 * waits for what is in use: only the job's own prolog and epilog may, as others must not be delayed. Returns 0, or -1
 * with a text if something is still there; EBUSY: it is in use; ETIME: fsdax_wipe_limit is used up, or the node is
 * short of memory. A later reap removes it then.
 */
int hm_namespaces_remove(const struct hm_config *config, struct hm_job *job, bool waits, struct hm_error *error);

struct hm_namespaces_reap {
    /* look only for namespaces of this cluster, as the ledger does not know jobs of other clusters; NULL: of any */
    const char *cluster;
    /* wait for other processes' work, and some minutes for what is in use: nobody waits for this reap */
    bool waits;
    bool has_left; /* namespaces of a job that has just ended could not be removed */
};

/*
 * Removes the namespaces whose job is not in the ledger, and kept ones that no job uses if they have expired or are
 * unfinished. Those of a job that has processes all the same stay, and count as in use. Restores the kernel's policy
 * for new memory if a killed `ram online` has set it aside. Does nothing on a node that has neither namespaces of
 * hybridmem nor such a policy. Namespaces of a job whose entry cannot be read stay. Without `waits`, what is in use or
 * locked is left to the next reap, and so is everything if hybridmem-namespace was killed (EAGAIN, the same number as
 * EWOULDBLOCK). Do not hold the ledger's lock.
 *
 * Returns 0; 1, with the reason, where a unit of systemd is to go on (wipelater.h): fsdax_wipe_limit is used up, the
 * node is short of memory, or, with `has_left` and such a limit, something would be left to the next reap; or -1 with a
 * text for the log (ENOTRECOVERABLE: it names a namespace that could not be removed).
 */
int hm_namespaces_reap(const struct hm_config *config, const struct hm_namespaces_reap *how, struct hm_error *error);

#endif
