/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger in the scratch folder. */
#ifndef FRESHLEDGER_H
#define FRESHLEDGER_H

#include "job/ledger/ledger.h"

/* Sets the default configuration, with run_dir and resctrl_dir in the scratch folder. Removes run_dir with its content.
 */
void ledger_empty(struct hm_config *config);
/* Does the same, and writes an entry of job 7. */
void ledger_with_job(struct hm_config *config, struct hm_job *job);

#endif
