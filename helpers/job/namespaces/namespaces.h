/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces of persistent memory that jobs' DAX file systems are on. hybridmem-namespace makes and removes them;
 * this starts it, and keeps the ledger's entry. What is made is labelled with its job, so that what a crash leaves is
 * found without the ledger; one lock keeps what is being made apart from the search for what nobody owns.
 * To make and to remove waits for as long as memory is being wiped: a pending alarm(2) is put off meanwhile.
 */
#ifndef HM_JOB_NAMESPACES_NAMESPACES_H
#define HM_JOB_NAMESPACES_NAMESPACES_H

#include "job/ledger/ledger.h"

/*
 * Make what the job's plan wants, or find what its user has kept. The entry must be in the ledger, with `is_begun` set.
 * Returns 0, or -1 with a text for the user; `is_begun` is false then where nothing was left behind.
 */
int hm_namespaces_make(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

/*
 * Wipe and remove what was made for the job, unless its user keeps it (again, after a crash, as often as need be).
 * `waits`: for what is in use, as the job's own epilog can; others are not to be held up by it. Returns 0, or -1 with a
 * text: something is still there; EBUSY: it is in use, and a later reap removes it.
 */
int hm_namespaces_remove(const struct hm_config *config, struct hm_job *job, bool waits, struct hm_error *error);

struct hm_namespaces_reap {
    const char *cluster; /* whose: other clusters' jobs are not in this ledger; NULL: anybody's */
    bool waits;          /* for others at work, and, for some minutes, for what is in use: nobody waits for us */
    bool has_left;       /* what a job had that has just ended could not be removed */
};

/*
 * Remove what belongs to no job in the ledger. Put back, too, what a killed ram online has set aside. Nothing happens
 * on a node that has nothing of ours. What a job may have whose entry cannot be read stays. Where it does not wait,
 * what is in use, or is being made or removed just now, is for the next one. Wants the ledger not locked. Returns 0; 1
 * where fsdax_wipe_limit left something for systemd, with the reason; or -1 with a text for the log (ENOTRECOVERABLE:
 * it names a namespace that could not be removed).
 */
int hm_namespaces_reap(const struct hm_config *config, const struct hm_namespaces_reap *how, struct hm_error *error);

#endif
