/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces of persistent memory that jobs' DAX file systems are on. hybridmem-namespace makes and removes them;
 * this starts it, and keeps the ledger's entry. What is made is labelled with its job, so that what a crash leaves is
 * found without the ledger; one lock keeps what is being made apart from the search for what nobody owns.
 * To make and to remove waits for as long as memory is being wiped: a pending alarm(2) is put off meanwhile.
 */
#ifndef HM_NAMESPACES_H
#define HM_NAMESPACES_H

#include "ledger.h"

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

/*
 * Remove what belongs to no job in the ledger, and to this cluster (NULL: to any). Nothing happens on a node that has
 * no namespace of ours, nor where an entry cannot be read. It waits for nobody: what is in use, or is being made or
 * removed just now, is for the next one. Wants the ledger not locked. Returns 0, or -1 with a text for the log.
 */
int hm_namespaces_reap(const struct hm_config *config, const char *cluster, struct hm_error *error);

#endif
