/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of hm_step_prepare share: nothing for others. */
#ifndef HM_JOB_STEP_PARTS_H
#define HM_JOB_STEP_PARTS_H

#include "core/config/identity.h"
#include "step.h"

/* What hm_step_prepare has found out on its way. */
struct hm_preparation {
    const struct hm_step_facts *facts;
    const char *option; /* this step's, NULL: the job's request holds */
    struct hm_step *step;
    struct hm_job *job;
    bool has_ledger;
    bool knows_user;
    struct hm_identity user;
    struct hm_plan_migration migration;
    uint64_t reserve_bytes;
    struct hm_error config_error, tiers_error, user_error; /* "" fine */
};

/* The first refusal of a step is the one that its user reads. */
void hm_step_refuse(struct hm_step *step, const char *text);

/* Plan an active step, and do what only root can. With the ledger locked; what cannot be had becomes the refusal. */
void hm_step_plan(struct hm_preparation *p);

/*
 * The DAMON broker, where it may be the source, then the migrator; without the lock. Returns 0, or -1 with a text.
 */
int hm_step_migrate(struct hm_preparation *p, struct hm_error *error);

#endif
