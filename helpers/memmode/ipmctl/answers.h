/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ipmctl's answers say. Each function takes the answer to the command line of its name (ipmctl.h). Where it fails,
 * it returns -1 with a text: EIO where ipmctl itself reports an error, which the text quotes; EBADMSG where a field is
 * missing or is not of its form: then nothing is assumed. Pure.
 */
#ifndef HM_MEMMODE_IPMCTL_ANSWERS_H
#define HM_MEMMODE_IPMCTL_ANSWERS_H

#include "memmode/decide/state.h"
#include "nvmxml.h"

int hm_answers_resources(const struct hm_nvmxml *answer, struct hm_memmode_resources *resources,
                         struct hm_error *error);

/* All numbers are 0 where no goal is pending. */
int hm_answers_goal(const struct hm_nvmxml *answer, struct hm_memmode_goal *goal, struct hm_error *error);

int hm_answers_abilities(const struct hm_nvmxml *answer, struct hm_memmode_abilities *abilities,
                         struct hm_error *error);

int hm_answers_modules(const struct hm_nvmxml *answer, struct hm_memmode_modules *modules, struct hm_error *error);

/* The answer to a change: 0 where it has the goals, or has succeeded for each module that it names, and names one.
 * ipmctl's exit status does not say that. */
int hm_answers_change(const struct hm_nvmxml *answer, struct hm_error *error);

#endif
