/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tiers for people and for programs. */
#ifndef HM_CLI_SHOW_TIERSPRINT_H
#define HM_CLI_SHOW_TIERSPRINT_H

#include "core/tiers/tiers.h"

/* Prints a table with each number's origin, then nodes by socket, notes and warnings, on standard output. */
void hm_tiersprint_table(const struct hm_tiers *tiers);
/* Prints one JSON object on standard output. Returns 0, or -1 if memory runs out or the output cannot be written. */
int hm_tiersprint_json(const struct hm_tiers *tiers);

#endif
