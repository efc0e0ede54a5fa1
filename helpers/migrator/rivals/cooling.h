/* SPDX-License-Identifier: Apache-2.0 */
/* HeMem's counters of samples, which Colloid uses, too. For the rivals. */
#ifndef HM_MIGRATOR_RIVALS_COOLING_H
#define HM_MIGRATOR_RIVALS_COOLING_H

#include "pages.h"

/*
 * Adds the samples of the phase to the counts of all pages, and then halves all of them as long as one exceeds 18
 * samples. The system halves them each time that a count exceeds 18, in the middle of a phase, too; but a trace does
 * not say in which order a phase's samples came. As all counts are halved equally often, they keep the same ratios.
 */
void hm_rival_count_and_cool(struct hm_rival *rival);

#endif
