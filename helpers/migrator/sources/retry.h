/* SPDX-License-Identifier: Apache-2.0 */
/* The pace of asking again for what was refused: once a second, and ever less often while it brings nothing. */
#ifndef HM_MIGRATOR_SOURCES_RETRY_H
#define HM_MIGRATOR_SOURCES_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define HM_RETRY_LONGEST_S 64 /* of the pauses */

struct hm_retry {
    unsigned pause_s; /* the last one; 0: there was none */
    uint64_t next_ns; /* CLOCK_MONOTONIC: not before */
};

static inline bool hm_retry_is_due(const struct hm_retry *retry)
{
    return hm_clock_ns(CLOCK_MONOTONIC) >= retry->next_ns;
}

/* Begins a pause. `brings`: the try before it has brought something. */
static inline void hm_retry_pause(struct hm_retry *retry, bool brings)
{
    unsigned longer_s = retry->pause_s > 0 ? 2 * retry->pause_s : 2;
    retry->pause_s = brings ? 1 : longer_s < HM_RETRY_LONGEST_S ? longer_s : HM_RETRY_LONGEST_S;
    retry->next_ns = hm_clock_ns(CLOCK_MONOTONIC) + retry->pause_s * UINT64_C(1000000000);
}

#endif
