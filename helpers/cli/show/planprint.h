/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `hybridmem plan` shows. */
#ifndef HM_CLI_SHOW_PLANPRINT_H
#define HM_CLI_SHOW_PLANPRINT_H

#include "core/plan/plan.h"

/* Prints the plan for people, on standard output. */
void hm_planprint_text(const struct hm_plan *plan, const struct hm_topology *topology);

/* Prints one JSON object. Returns 0, or -1 if it could not be made or written. */
int hm_planprint_json(const struct hm_plan *plan, const struct hm_topology *topology);

#endif
