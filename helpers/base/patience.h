/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting, by polling, for things that send no event when they are over. */
#ifndef HM_BASE_PATIENCE_H
#define HM_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Sleep for a tenth of a second. `since_ns` is when the wait began (CLOCK_MONOTONIC); 0: it begins now, and that is
 * noted. Returns false, without sleeping, once the wait has lasted for `patience_s` seconds; the caller's work between
 * the sleeps counts, too. */
bool hm_patience_pause(uint64_t *since_ns, unsigned patience_s);

#endif
