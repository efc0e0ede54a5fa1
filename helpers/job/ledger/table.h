/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the fields of a ledger entry (base/fields.h). A new member of struct hm_job needs a row in table.c, and
 * a line in hm_job_init if it does not begin as 0.
 */
#ifndef HM_JOB_LEDGER_TABLE_H
#define HM_JOB_LEDGER_TABLE_H

#include "base/fields.h"

#define HM_ENTRY_MOST (528u << 10) /* bytes of the largest entry, with '\0'; a larger one is not read */

extern const struct hm_fields hm_job_fields;      /* of struct hm_job */
extern const struct hm_field hm_change_table[];   /* of struct hm_change */
extern const struct hm_field hm_process_table[];  /* of struct hm_process */
extern const struct hm_field hm_guided_table[];   /* of struct hm_guided */
extern const struct hm_field hm_profiled_table[]; /* of struct hm_profiled */

#endif
