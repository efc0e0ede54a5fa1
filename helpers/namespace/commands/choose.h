/* SPDX-License-Identifier: Apache-2.0 */
/* Which namespaces a removal is to remove. */
#ifndef HM_NAMESPACE_COMMANDS_CHOOSE_H
#define HM_NAMESPACE_COMMANDS_CHOOSE_H

#include <stdint.h>

#include "core/config/config.h"
#include "namespace/pmem/pmem.h"

struct hm_choice {
    const char *cluster; /* NULL: any */
    enum { HM_CHOICE_OF_JOB, HM_CHOICE_OF_USER, HM_CHOICE_OF_NOBODY } whose;
    uint32_t job_id, restart, uid;
    /* The rest is for HM_CHOICE_OF_NOBODY. The jobs and users whose namespaces stay; what other users keep stays, too,
     * if it is whole and within its age. */
    const char *living;
    const struct hm_config *config; /* gives the age */
    const char *notes;              /* of what earlier reaps have found past its age */
    int64_t now_s;
};

/*
 * Find the namespaces to remove. With HM_CHOICE_OF_NOBODY also notes which are past their age (pmem/overdue.h). Forgets
 * how far wipes of namespaces that are gone have come (pmem/wiped.h). The caller holds the lock, and frees the array.
 * Returns how many, or -1.
 */
int hm_choose(const struct hm_choice *choice, struct hm_namespace **chosen, struct hm_error *error);

/* List the namespaces of all owners. The caller frees the array. Returns how many, or -1. */
int hm_choose_owned(struct hm_namespace **owned, struct hm_error *error);

#endif
