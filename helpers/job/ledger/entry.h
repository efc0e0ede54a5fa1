/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a ledger entry: parsing and formatting. Pure but for the clock and the boot id of a new entry. */
#ifndef HM_JOB_LEDGER_ENTRY_H
#define HM_JOB_LEDGER_ENTRY_H

#include "ledger.h"
#include "table.h"

/*
 * Reads an entry of `length` bytes with a '\0' after them: text as hm_entry_format writes it. `content` may hold any
 * bytes; it is changed while it is parsed. `part` is &hm_job_fields, or has some of its rows. Fields that the entry or
 * `part` does not have get the values of hm_job_init. Returns 0, or -1 with a text: EBADMSG where the entry is torn or
 * a field is wrong, which the text names.
 */
int hm_entry_parse(char *content, size_t length, const struct hm_fields *part, struct hm_job *job,
                   struct hm_error *error);

/*
 * Writes the job's entry into `out` (HM_ENTRY_MOST bytes). `before` is the text that it replaces, or NULL. If that is
 * of the same run, its fields that this version does not know are kept. Returns the length, or -1: EBADMSG where a
 * field is out of range, so that nobody could read the entry again; EFBIG where the text would be too long.
 */
ssize_t hm_entry_format(const struct hm_job *job, const char *before, char *out, struct hm_error *error);

#endif
