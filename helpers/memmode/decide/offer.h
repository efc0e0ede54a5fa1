/* SPDX-License-Identifier: Apache-2.0 */
/* Which features slurmctld offers of a node, by what `scontrol show node -o NODE` writes. Pure. */
#ifndef HM_MEMMODE_DECIDE_OFFER_H
#define HM_MEMMODE_DECIDE_OFFER_H

#include <stdbool.h>
#include <stddef.h>

/* Is the node up, so that slurmctld has done with a helper that has failed? It is ALLOCATED+POWERING_UP while the
 * helper runs, then DOWN. */
bool hm_offer_is_up(const char *text);

/* Is the feature among the available ones? `rest` gets the others, with commas between them. Returns 1; 0 where it is
 * not; or -1 where the text does not tell, or `rest` has no room. */
int hm_offer_without(const char *text, const char *feature, char *rest, size_t size);

#endif
