/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

#include "base/amount.h"

#define SHARE_OF_REST 0.1 /* largest share of the remaining time for moving: a longer move could not pay off */
#define TO_BE_ENDED_S 300 /* Slurm looks at time limits twice a minute, and then gives processes some time to end */
#define LEARN 0.5         /* weight of the latest measurement */
#define ENOUGH (1 << 20)  /* bytes: a smaller move says nothing about the speed */

uint64_t hm_pace_due(const struct hm_pace *pace, uint64_t start_ns)
{
    uint64_t length, due;
    if (pace->phase_samples > 0 ||
        __builtin_mul_overflow(pace->interval_ms, UINT64_C(1000000) * (1 + pace->longer), &length) ||
        __builtin_add_overflow(start_ns, length, &due))
        return UINT64_MAX;
    return due;
}

bool hm_pace_is_over(const struct hm_pace *pace, uint64_t start_ns, uint64_t now_ns, uint64_t samples)
{
    return pace->phase_samples > 0 ? samples / (1 + pace->longer) >= pace->phase_samples
                                   : now_ns >= hm_pace_due(pace, start_ns);
}

bool hm_pace_lengthen(struct hm_pace *pace, bool is_paid)
{
    bool goes_on = !is_paid && pace->longer + 1 < HM_PACE_LONGEST;
    pace->longer = goes_on ? pace->longer + 1 : 0;
    return goes_on;
}

/* Bytes as pages; UINT64_MAX, no limit, for more pages than there can be. */
static uint64_t pages_of(const struct hm_pace *pace, double bytes)
{
    double pages = bytes / (double)pace->page_bytes;
    return pages >= 0x1p52 ? UINT64_MAX : pages <= 0 ? 0 : (uint64_t)pages;
}

double hm_pace_left_s(const struct hm_pace *pace, double now_s)
{
    double left_s = (double)pace->end_s - now_s;
    return pace->end_s > 0 && left_s > 0 ? left_s : -1;
}

bool hm_pace_is_outlived(const struct hm_pace *pace, double now_s)
{
    return pace->end_s > 0 && now_s - (double)pace->end_s > TO_BE_ENDED_S;
}

uint64_t hm_pace_rate(const struct hm_pace *pace)
{
    return pace->rate > 0 ? pages_of(pace, (double)pace->rate * ((double)pace->interval_ms / 1000)) : UINT64_MAX;
}

uint64_t hm_pace_budget(const struct hm_pace *pace, double now_s)
{
    double left_s = hm_pace_left_s(pace, now_s);
    uint64_t budget = hm_pace_rate(pace);
    return left_s < 0 || pace->bytes_per_s <= 0
               ? budget
               : hm_least(budget, pages_of(pace, left_s * SHARE_OF_REST * pace->bytes_per_s));
}

double hm_pace_phases_left(const struct hm_pace *pace, double now_s, double phase_s)
{
    double left_s = hm_pace_left_s(pace, now_s);
    return left_s < 0 || phase_s <= 0 ? -1 : left_s / phase_s;
}

void hm_pace_learn(struct hm_pace *pace, uint64_t bytes, double seconds)
{
    if (bytes < ENOUGH || seconds <= 0)
        return;
    double speed = (double)bytes / seconds;
    pace->bytes_per_s = pace->bytes_per_s > 0 ? (1 - LEARN) * pace->bytes_per_s + LEARN * speed : speed;
}
