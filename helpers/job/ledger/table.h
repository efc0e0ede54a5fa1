/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a ledger entry (base/fields.h): the one place where a new one has to be added. */
#ifndef HM_JOB_LEDGER_TABLE_H
#define HM_JOB_LEDGER_TABLE_H

#include "base/fields.h"

#define HM_ENTRY_MOST (256u << 10) /* bytes of an entry: nothing larger is read */

extern const struct hm_fields hm_job_fields; /* of struct hm_job */

#endif
