/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger in the scratch folder. */
#ifndef FRESHLEDGER_H
#define FRESHLEDGER_H

#include "job/ledger/ledger.h"

/* The default configuration, with an empty run_dir and a resctrl_dir of the test's own. */
void ledger_empty(struct hm_config *config);
/* The same, with an entry of job 7. */
void ledger_with_job(struct hm_config *config, struct hm_job *job);

#endif
