/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when the migrator rests: the step has next to nothing in the slow tier, and is not above its cap in the fast
 * one. Pure. */
#ifndef HM_MIGRATOR_LIVE_REST_H
#define HM_MIGRATOR_LIVE_REST_H

#include <stdbool.h>
#include <stdint.h>

/* What the slow tier has is worth a look if it is at least HM_REST_BYTES, and at least 1 / HM_REST_SHARE of what the
 * step has in the fast tier. */
#define HM_REST_BYTES (UINT64_C(4) << 20)
#define HM_REST_SHARE 100
#define HM_REST_CALM 3 /* phases without work after which the migrator rests */
/* Of the looks at rest, one in so many reads the mappings and the watermarks, which costs several times as much as all
 * else. */
#define HM_REST_MAPS 8
/* A resting step with less memory than this matters to nobody: nothing else is read for it. */
#define HM_REST_SMALL (UINT64_C(16) << 20)

struct hm_rest {
    bool is_resting;
    unsigned calm;    /* phases in a row without work */
    unsigned n_looks; /* since the rest began */
};

/* Is there work for a step with these bytes in the fast and the slow tier? cap_bytes UINT64_MAX: no cap. */
bool hm_rest_has_work(const uint64_t bytes[2], uint64_t cap_bytes);

/* Decides for the next phase. `bytes` NULL: not known, so there may be work. */
void hm_rest_next(struct hm_rest *rest, const uint64_t *bytes, uint64_t cap_bytes);

#endif
