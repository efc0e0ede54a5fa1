/* SPDX-License-Identifier: Apache-2.0 */
/* What the migrators of a job say that they did on this node: step by step, and together. Pure. */
#ifndef HM_JOB_LEDGER_MIGRATION_H
#define HM_JOB_LEDGER_MIGRATION_H

#include "migrator/figures/progress.h"

#define HM_MIGRATION_STEPS 16

struct hm_migration {
    uint32_t n_steps;         /* that were added; only the first HM_MIGRATION_STEPS are kept one by one */
    uint32_t n_begun;         /* of these, whose migrator had begun: the others have no figures */
    uint64_t judged_samples;  /* of the steps that know their shares */
    struct hm_progress total; /* sums and extremes; a word or setting that differs between steps is "" or 0 */
    struct hm_progress step[HM_MIGRATION_STEPS];
};

/* No steps. */
void hm_migration_clear(struct hm_migration *migration);

/* Add a step's figures, which hm_progress_check has accepted. */
void hm_migration_add(struct hm_migration *migration, const struct hm_progress *step);

/* Its fields. */
extern const struct hm_field hm_migration_table[];

#endif
