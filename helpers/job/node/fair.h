/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the node's table of the jobs that share the fast tier (core/share/shares.h). The caller holds the ledger's
 * lock, unless it is said otherwise. */
#ifndef HM_JOB_NODE_FAIR_H
#define HM_JOB_NODE_FAIR_H

#include "job/ledger/ledger.h"

#define HM_FAIR_PATH (HM_CONFIG_PATH_MAX + 64)

/* Writes the path of the table into `out` (HM_FAIR_PATH bytes). Returns `out`, or NULL where the site does not share.
 */
const char *hm_fair_path(const struct hm_config *config, char *out);

/* Makes the table, unless it is there. Does nothing where the site does not share. Do not hold the lock. Returns 0, or
 * -1 with a text. */
int hm_fair_make(const struct hm_config *config, struct hm_error *error);

/*
 * Enters the job, one of whose migrators begins, with its weight in the table that hm_fair_make has made; `cap_bytes`
 * is its fast= (0: none). Does nothing where the site does not share. Returns 0, or -1 with a text: the job then takes
 * what is free.
 */
int hm_fair_join(const struct hm_config *config, const struct hm_job *job, uint64_t cap_bytes, struct hm_error *error);

/* Takes the job out, unless one of its migrators still runs or begins. */
void hm_fair_leave(const struct hm_config *config, const struct hm_job *job);

/* Takes out jobs that have no entry in the ledger, or removes a table that cannot be used. Takes the lock itself. */
void hm_fair_reap(const struct hm_config *config);

#endif
