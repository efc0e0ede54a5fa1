/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces of persistent memory that jobs' DAX file systems are on. hybridmem-namespace makes and removes them;
 * this starts it, and keeps the ledger's entry. What is made is labelled with its job, so that what a crash leaves is
 * found without the ledger; one lock keeps what is being made apart from the search for what nobody owns.
 * These wait for as long as memory is being wiped: a pending alarm(2) is put off meanwhile.
 */
#ifndef HM_NAMESPACES_H
#define HM_NAMESPACES_H

#include "ledger.h"

/*
 * Make what the job's plan wants. The entry must be in the ledger, with `is_begun` set. Returns 0, or -1 with a text
 * for the user; `is_begun` is false then where nothing was left behind.
 */
int hm_namespaces_make(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

/*
 * Wipe and remove what was made for the job (again, after a crash, as often as need be). Returns 0, or -1 with a text:
 * something is still there.
 */
int hm_namespaces_remove(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

/*
 * Remove what belongs to no job in the ledger. Nothing happens on a node that has no namespace of ours, nor where an
 * entry cannot be read. Wants the ledger not locked. Returns 0, or -1 with a text for the log.
 */
int hm_namespaces_reap(const struct hm_config *config, struct hm_error *error);

#endif
