/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the results of a plan's runs together. Pure. */
#ifndef HM_SITES_MBI_SUM_H
#define HM_SITES_MBI_SUM_H

#include "plan.h"
#include "result.h"

/*
 * Gives a profile that has the plan's sites the bytes that were counted, in place of what was sampled. `result` has one
 * for each run; NULL: there is none, or it failed.
 *
 * The traffic of a group is the mean, over the repetitions, of its run's less that of the run with nothing in the slow
 * tier; a mean below 0 is 0. The bounds of its share are those of Student's t distribution over its shares in the
 * repetitions in which nothing is missing, with 95 % confidence: there are none of fewer than two. The sites of one
 * group have parts of its traffic by their mean bytes, and as that is a guess, bounds of 0 to the group's. Sites in no
 * group are not measured.
 *
 * Returns 0, or -1 with a text (ENODATA): no repetition has measured a group, and `is_partial` is false, or all that is
 * in no group. Where `is_partial`, sites that were not measured have no figures, and the profile's `why` says how many
 * they are.
 */
int hm_mbi_sum(const struct hm_mbi_plan *plan, const struct hm_mbi_result *const *result, bool is_partial,
               struct hm_profile *profile, struct hm_error *error);

#endif
