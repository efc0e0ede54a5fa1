/* SPDX-License-Identifier: Apache-2.0 */
#include "slices.h"

#include <math.h>

#include "base/amount.h"

/* Of a site's accesses, the part that is taken to be spread evenly: what is used seldom is missing in the caches more
 * often, and samples of accesses say less of that. */
#define EVEN 0.2

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

/* The first slices: samples and bytes up to each, as parts of the site's bytes; and the best partition of them. */
struct prefix {
    double samples, bytes;
    double fit; /* log-likelihood, without what all partitions have in common, less a penalty for each part */
    int begins; /* the last part */
};

/* Of one rate, with N samples in T bytes: N log(N / T). */
static double fit_of(const struct prefix *from, const struct prefix *to)
{
    double samples = to->samples - from->samples, bytes = to->bytes - from->bytes;
    return samples > 0 ? samples * log(samples / bytes) : 0;
}

/* What a further part has to gain, for so many samples: found by simulation, for false parts in 5 % (equation 21). */
static double penalty_of(double samples)
{
    return 4 - log(73.53 * 0.05 * pow(fmax(samples, 1), -0.478));
}

/* The most likely partition of the slices into parts that each have one rate. */
static void partition(struct prefix *prefix, int n)
{
    double penalty = penalty_of(prefix[n].samples);
    for (int end = 1; end <= n; end++) {
        prefix[end] = (struct prefix){prefix[end].samples, prefix[end].bytes, -INFINITY, 0};
        for (int begin = 0; begin < end; begin++) {
            double fit = prefix[begin].fit + fit_of(&prefix[begin], &prefix[end]) - penalty;
            if (fit > prefix[end].fit) {
                prefix[end].fit = fit;
                prefix[end].begins = begin;
            }
        }
    }
}

static void count(const struct hm_slices *slices, int n, struct prefix prefix[HM_SLICES + 1])
{
    double all = 0;
    for (int i = 0; i < n; i++)
        all += slices->accesses[i];
    double unit = all > 0 ? slices->samples / all : 0;
    if (!isfinite(unit)) /* a profile may have any numbers */
        unit = 0;
    prefix[0] = (struct prefix){.samples = 0};
    for (int i = 0; i < n; i++) {
        prefix[i + 1].samples = prefix[i].samples + slices->accesses[i] * unit;
        prefix[i + 1].bytes = prefix[i].bytes + hm_slices_bytes(slices, i);
    }
}

void hm_slices_expect(const struct hm_slices *slices, double share[HM_SLICES])
{
    struct prefix prefix[HM_SLICES + 1];
    int n = hm_slices_count(slices);
    double sum = 0;
    count(slices, n, prefix);
    partition(prefix, n);
    for (int end = n, begin; end > 0; end = begin) {
        begin = prefix[end].begins;
        double found = prefix[end].samples - prefix[begin].samples, bytes = prefix[end].bytes - prefix[begin].bytes;
        /* as if one more sample had been as expected, so that no part has none */
        double rate = (found + 1) / (prefix[n].samples * bytes + 1);
        for (int i = begin; i < end; i++)
            sum += share[i] = rate * hm_slices_bytes(slices, i);
    }
    for (int i = 0; i < HM_SLICES; i++)
        share[i] = i < n ? (1 - EVEN) * share[i] / sum + EVEN * hm_slices_bytes(slices, i) : 0;
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
    into->samples += other.samples;
    for (int i = 0; i < HM_SLICES; i++)
        into->accesses[i] += other.accesses[i];
}
