/* SPDX-License-Identifier: Apache-2.0 */
/* When there is nothing to do: a step that has nothing in the slow tier, and is not over its cap. Pure. */
#ifndef HM_MIGRATOR_LIVE_REST_H
#define HM_MIGRATOR_LIVE_REST_H

#include <stdbool.h>
#include <stdint.h>

#define HM_REST_BYTES (UINT64_C(4) << 20) /* less in the slow tier is not worth a look... */
#define HM_REST_SHARE 100                 /* ... nor is less than a hundredth of what the fast tier has */
#define HM_REST_CALM 3                    /* phases with nothing to do, until it rests */

struct hm_rest {
    bool is_resting;
    unsigned calm; /* phases since there was something to do */
};

/* Is there anything to do for a step with so many bytes in the fast and the slow tier? cap_bytes UINT64_MAX: none. */
bool hm_rest_has_work(const uint64_t bytes[2], uint64_t cap_bytes);

/* A phase has ended, or begins: rest or not in the next one? `bytes` NULL: not known, so there may be something. */
void hm_rest_next(struct hm_rest *rest, const uint64_t *bytes, uint64_t cap_bytes);

#endif
