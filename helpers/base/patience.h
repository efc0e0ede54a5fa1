/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for what tells nobody when it is over. */
#ifndef HM_BASE_PATIENCE_H
#define HM_BASE_PATIENCE_H

#include <stdbool.h>

/* Sleep for a tenth of a second; `pauses`, 0 at first, counts them. Returns false, at once, where so many seconds have
 * been slept already. */
bool hm_patience_pause(unsigned *pauses, unsigned patience_s);

/* Seconds that so many pauses took. Pure. */
unsigned hm_patience_s(unsigned pauses);

#endif
