/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a job's migrators on this node, for each step and in total. Pure. */
#ifndef HM_JOB_LEDGER_MIGRATION_H
#define HM_JOB_LEDGER_MIGRATION_H

#include <stdbool.h>

#include "migrator/figures/progress.h"

#define HM_MIGRATION_STEPS 16

struct hm_migration {
    uint32_t n_steps; /* steps added; only the first HM_MIGRATION_STEPS are in `step` */
    uint32_t n_begun; /* those of them whose migrator had begun; the others have no figures */
    /* samples of the steps whose fast_share is known; the means in `total` are over these steps, weighted by them */
    uint64_t judged_samples;
    struct hm_progress total; /* sums, extremes and means; a word or setting that differs between steps is "" or 0 */
    struct hm_progress step[HM_MIGRATION_STEPS];
};

/* Sets the state of a job without steps. */
void hm_migration_clear(struct hm_migration *migration);

/* Adds a step's figures. hm_progress_check must have accepted them. */
void hm_migration_add(struct hm_migration *migration, const struct hm_progress *step);

/* Do the means of fast_share and best_share in `total` stand for the job? Not if steps whose share is not known have
 * more than a tenth of the samples. */
bool hm_migration_knows_shares(const struct hm_migration *migration);

/* The fields of struct hm_migration. */
extern const struct hm_field hm_migration_table[];

#endif
