/* SPDX-License-Identifier: Apache-2.0 */
#include "slices.h"

#include <math.h>

#include "base/amount.h"

int hm_slices_count(const struct hm_slices *slices)
{
    if (!slices->is_known)
        return 0;
    if (slices->step_bytes == 0)
        return HM_SLICES;
    return (int)hm_least((slices->extent_bytes - 1) / slices->step_bytes + 1, HM_SLICES);
}

double hm_slices_bytes(const struct hm_slices *slices, int slice)
{
    uint64_t before = (uint64_t)slice * slices->step_bytes;
    if (slices->step_bytes == 0)
        return 1.0 / HM_SLICES;
    return (double)hm_least(hm_less(slices->extent_bytes, before), slices->step_bytes) / (double)slices->extent_bytes;
}

/* By how much more than chance has it the samples of slices differ? The variance of their rates, as a part of the
 * square of the site's. */
static double spread_of(const double samples[HM_SLICES], const double bytes[HM_SLICES], double all)
{
    double squares = 0, weights = 0;
    for (int i = 0; i < HM_SLICES; i++) {
        squares += pow(samples[i] - all * bytes[i], 2);
        weights += pow(all * bytes[i], 2);
    }
    return fmax(0, squares - all) / weights;
}

void hm_slices_expect(const struct hm_slices *slices, double samples, double share[HM_SLICES])
{
    double all = 0, bytes[HM_SLICES] = {0}, counts[HM_SLICES] = {0};
    int n = hm_slices_count(slices);
    for (int i = 0; i < n; i++)
        all += slices->accesses[i];
    for (int i = 0; i < HM_SLICES; i++) {
        bytes[i] = i < n ? hm_slices_bytes(slices, i) : 0;
        counts[i] = i < n && all > 0 && samples > 0 ? slices->accesses[i] * (samples / all) : 0;
        share[i] = bytes[i];
    }
    double spread = all > 0 && samples > 0 ? spread_of(counts, bytes, samples) : 0;
    if (!(spread > 0))
        return;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        share[i] = bytes[i] * (1 / spread + counts[i]) / (1 / spread + samples * bytes[i]);
        sum += share[i];
    }
    for (int i = 0; i < n; i++)
        share[i] /= sum;
}

/* Makes slices twice as large, until they have so many bytes. */
static void step_up(struct hm_slices *slices, uint64_t step_bytes)
{
    while (slices->step_bytes < step_bytes) {
        for (int i = 0; i < HM_SLICES; i++)
            slices->accesses[i] = 2 * i < HM_SLICES ? slices->accesses[2 * i] + slices->accesses[2 * i + 1] : 0;
        slices->step_bytes *= 2;
    }
}

void hm_slices_widen(struct hm_slices *slices, uint64_t bytes)
{
    step_up(slices, bytes / HM_SLICES + (bytes % HM_SLICES != 0));
}

void hm_slices_add(struct hm_slices *into, const struct hm_slices *from)
{
    struct hm_slices other = *from;
    into->is_known = into->is_known && from->is_known && (into->step_bytes == 0) == (from->step_bytes == 0);
    if (into->is_known && into->step_bytes > 0) {
        step_up(into, other.step_bytes);
        step_up(&other, into->step_bytes);
        into->is_known = into->step_bytes == other.step_bytes;
    }
    if (!into->is_known) {
        *into = (struct hm_slices){.is_known = false};
        return;
    }
    into->extent_bytes = hm_most(into->extent_bytes, other.extent_bytes);
    for (int i = 0; i < HM_SLICES; i++)
        into->accesses[i] += other.accesses[i];
}
