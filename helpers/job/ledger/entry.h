/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a ledger entry. Pure but for the clock. */
#ifndef HM_JOB_LEDGER_ENTRY_H
#define HM_JOB_LEDGER_ENTRY_H

#include "ledger.h"
#include "table.h"

/*
 * Read an entry of `length` bytes, terminated behind them: text as hm_entry_format writes it, or the raw structure of
 * hybridmem before entries described themselves. Any bytes may be given; they are cut apart. What the entry does not
 * say is as hm_job_init has it. Returns 0, or -1 with EBADMSG and a text that names the field.
 */
int hm_entry_parse(char *content, size_t length, struct hm_job *job, struct hm_error *error);

/*
 * Write the job's entry into `out` (HM_ENTRY_MOST bytes). `before` is the text that it replaces, or NULL: where it is
 * of the same run, what it has that this version does not know is kept. Returns the length, or -1: EBADMSG where a
 * field is out of range, so that nobody could read it, EFBIG.
 */
ssize_t hm_entry_format(const struct hm_job *job, const char *before, char *out, struct hm_error *error);

/* Is this an entry of the last version whose entries were raw structures? */
bool hm_entryv8_is(const char *content, size_t length);
/* Write it as text into `out` (HM_ENTRY_MOST). Any bytes may be given, aligned as malloc(3) does; they may be changed.
 * Returns 0, or -1 (EBADMSG). */
int hm_entryv8_format(char *content, char *out, struct hm_error *error);

#endif
