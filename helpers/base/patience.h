/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting, by polling, for things that send no event when they are over. */
#ifndef HM_BASE_PATIENCE_H
#define HM_BASE_PATIENCE_H

#include <stdbool.h>

/* Sleep for a tenth of a second. `pauses` counts these sleeps; the caller sets it to 0 first. Returns false, without
 * sleeping, once they add up to `patience_s` seconds. */
bool hm_patience_pause(unsigned *pauses, unsigned patience_s);

/* How many seconds these pauses took. Pure. */
unsigned hm_patience_s(unsigned pauses);

#endif
