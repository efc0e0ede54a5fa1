/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a ledger entry: what is always true of one, and whether one that was read may be believed. Pure but
 * for the clock. */
#ifndef HM_JOB_LEDGER_ENTRY_H
#define HM_JOB_LEDGER_ENTRY_H

#include "ledger.h"

/* Set the layout's marks. */
void hm_entry_mark(struct hm_job *job);
/*
 * Layout, counts and words in range, texts terminated? Returns 0, or -1 with EBADMSG and a text that names the job and
 * the field. Any bytes may be given.
 */
int hm_entry_check(const struct hm_job *job, struct hm_error *error);
/* The same for a plan alone: NULL, or the name of the field that is wrong. */
const char *hm_entry_bad_plan(const struct hm_plan *plan);

#endif
