/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth: how much memory the step may allocate before the migrator can react, by what it has had at earlier looks.
 * Pure.
 */
#ifndef HM_MIGRATOR_LIVE_GROWTH_H
#define HM_MIGRATOR_LIVE_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#define HM_GROWTH_LOOKS 64 /* that are kept: what was longer ago does not count */
#define HM_GROWTH_UNKNOWN UINT64_MAX

struct hm_growth {
    struct {
        uint64_t at_ns, bytes;
    } look[HM_GROWTH_LOOKS];
    size_t n; /* looks so far; the newest is look[(n - 1) % HM_GROWTH_LOOKS] */
};

/* Notes that the step had `bytes` at `now_ns`, later than all looks before. */
void hm_growth_note(struct hm_growth *growth, uint64_t now_ns, uint64_t bytes);
/*
 * How many bytes the step, which has `bytes` now, may allocate within the next `reaction_ns`: as much as
 *  - it has given back since its peak, as a step that allocates and frees in turn does that again;
 *  - or its peak has risen within the last `reaction_ns`, as a step that grows goes on to grow.
 * The larger of the two. HM_GROWTH_UNKNOWN: no look is as old as `reaction_ns`.
 */
uint64_t hm_growth_expected(const struct hm_growth *growth, uint64_t now_ns, uint64_t reaction_ns, uint64_t bytes);

#endif
