/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grown.h"

#define INTERVAL_MAX_MS (24u * 3600 * 1000)
#define LEAST 28984 /* size of the structure at the beginning of version 3, in bytes */

_Static_assert(offsetof(struct hm_samples, point) + sizeof(((struct hm_samples *)0)->point) == LEAST,
               "new members come at the end");

static uint64_t point_total(const uint64_t *point, uint32_t n_tiers)
{
    uint64_t total = 0;
    for (uint32_t t = 0; t < n_tiers; t++)
        total = hm_usage_add(total, point[t]);
    return total;
}

/* Should `other` replace `point`: is `point` empty, or its sum smaller? */
static bool gives_way(const uint64_t *point, const uint64_t *other, uint32_t n_tiers)
{
    if (other[0] == HM_SAMPLES_NONE)
        return false;
    return point[0] == HM_SAMPLES_NONE || point_total(other, n_tiers) > point_total(point, n_tiers);
}

/* Join each pair of neighbouring points into one, so that half of the points are free again. */
static void double_stride(struct hm_samples *samples)
{
    uint32_t kept = (samples->n_points + 1) / 2;
    for (uint32_t i = 0; i < kept; i++) {
        const uint64_t *from = samples->point[2 * i];
        if (2 * i + 1 < samples->n_points && gives_way(from, samples->point[2 * i + 1], samples->n_tiers))
            from = samples->point[2 * i + 1];
        if (from != samples->point[i])
            memcpy(samples->point[i], from, sizeof(samples->point[i]));
    }
    samples->n_points = kept;
    samples->stride *= 2;
}

static void add_point(struct hm_samples *samples, const uint64_t *totals, uint64_t mono_ns)
{
    uint64_t interval_ns = (uint64_t)samples->interval_ms * 1000000;
    uint64_t ticks = mono_ns / interval_ns - samples->first_mono_ns / interval_ns;
    while (ticks / samples->stride >= HM_SAMPLES_POINTS)
        double_stride(samples);
    uint32_t index = (uint32_t)(ticks / samples->stride);
    for (; samples->n_points <= index; samples->n_points++)
        samples->point[samples->n_points][0] = HM_SAMPLES_NONE;
    if (gives_way(samples->point[index], totals, samples->n_tiers))
        memcpy(samples->point[index], totals, sizeof(samples->point[index]));
}

void hm_samples_add(struct hm_samples *samples, const struct hm_usage usage[HM_MAX_TIERS], uint64_t real_ns,
                    uint64_t mono_ns)
{
    if (samples->n_samples == 0) {
        samples->first_ns = real_ns;
        samples->first_mono_ns = samples->last_mono_ns = mono_ns;
    }
    if (mono_ns < samples->last_mono_ns)
        mono_ns = samples->last_mono_ns;
    double seconds = (double)(mono_ns - samples->last_mono_ns) / 1e9;
    uint64_t totals[HM_MAX_TIERS] = {0}, peak[HM_MAX_TIERS] = {0};
    for (uint32_t t = 0; t < samples->n_tiers; t++) {
        totals[t] = hm_usage_total(&usage[t]);
        peak[t] = hm_usage_total(&samples->peak[t]);
        samples->tier_sum[t] += ((double)samples->tier_last[t] + (double)totals[t]) / 2 * seconds;
        samples->tier_last[t] = totals[t];
        if (totals[t] > samples->tier_peak[t])
            samples->tier_peak[t] = totals[t];
    }
    if (point_total(totals, samples->n_tiers) >= point_total(peak, samples->n_tiers))
        memcpy(samples->peak, usage, sizeof(samples->peak));
    add_point(samples, totals, mono_ns);
    samples->last_ns = real_ns;
    samples->last_mono_ns = mono_ns;
    samples->n_samples++;
}

double hm_samples_mean(const struct hm_samples *samples, uint32_t tier)
{
    if (samples->last_mono_ns <= samples->first_mono_ns)
        return (double)samples->tier_last[tier];
    return samples->tier_sum[tier] / ((double)(samples->last_mono_ns - samples->first_mono_ns) / 1e9);
}

static const char *first_bad_field(const struct hm_samples *samples)
{
    if (samples->magic != HM_SAMPLES_MAGIC)
        return "magic";
    if (samples->version != HM_SAMPLES_VERSION || samples->bytes < LEAST)
        return "version";
    if (samples->n_tiers < 1 || samples->n_tiers > HM_MAX_TIERS)
        return "n_tiers";
    if (samples->interval_ms < 1 || samples->interval_ms > INTERVAL_MAX_MS)
        return "interval_ms";
    if (samples->stride == 0 || (samples->stride & (samples->stride - 1)) != 0)
        return "stride";
    if (samples->n_points > HM_SAMPLES_POINTS || (samples->n_points > 0) != (samples->n_samples > 0))
        return "n_points";
    if (samples->first_mono_ns > samples->last_mono_ns)
        return "last_mono_ns";
    if (samples->peak_source > HM_PEAK_SAMPLED)
        return "peak_source";
    if (samples->has_hugetlb > 1)
        return "has_hugetlb";
    if (samples->finished > 1)
        return "finished";
    if (!memchr(samples->missing, '\0', sizeof(samples->missing)))
        return "missing";
    const char *metered = hm_metered_bad(&samples->metered);
    if (metered)
        return metered;
    for (uint32_t t = 0; t < samples->n_tiers; t++) {
        if (!samples->tier_name[t][0] || !memchr(samples->tier_name[t], '\0', HM_NAME))
            return "tier_name";
        if (samples->tier_kind[t] > HM_KIND_HBM)
            return "tier_kind";
        if (!isfinite(samples->tier_sum[t]) || samples->tier_sum[t] < 0)
            return "tier_sum";
    }
    return NULL;
}

int hm_samples_check(const struct hm_samples *samples, struct hm_error *error)
{
    const char *field = first_bad_field(samples);
    return field ? hm_fail(error, EBADMSG, "samples file: \"%s\" is out of range", field) : 0;
}

int hm_samples_read_fd(int fd, struct hm_samples *samples, struct hm_error *error)
{
    memset(samples, 0, sizeof(*samples));
    return hm_grown_read(fd, samples, sizeof(*samples), LEAST, error) == 0 ? hm_samples_check(samples, error) : -1;
}

int hm_samples_read(const char *path, struct hm_samples *samples, struct hm_error *error)
{
    struct hm_error why = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    int result = hm_samples_read_fd(fd, samples, &why);
    if (result != 0)
        hm_fail(error, errno, "%s is no samples file: %s", path, why.text);
    int number = errno;
    close(fd);
    errno = number;
    return result;
}

struct hm_samples *hm_samples_map(int fd, struct hm_error *error)
{
    struct hm_error why = {0};
    struct hm_samples *fresh = calloc(1, sizeof(*fresh));
    struct hm_samples *samples = fresh ? hm_grown_map(fd, fresh, sizeof(*fresh), LEAST, &why) : NULL;
    free(fresh);
    if (!samples) {
        hm_fail(error, errno, "descriptor %d is no samples file: %s", fd, why.text);
        return NULL;
    }
    if (hm_samples_check(samples, error) == 0)
        return samples;
    munmap(samples, sizeof(*samples));
    errno = EBADMSG;
    return NULL;
}

static void set_up(struct hm_samples *samples, const struct hm_tiers *tiers, uint32_t interval_ms)
{
    samples->magic = HM_SAMPLES_MAGIC;
    samples->version = HM_SAMPLES_VERSION;
    samples->bytes = sizeof(*samples);
    samples->n_tiers = (uint32_t)tiers->n_tiers;
    samples->interval_ms = interval_ms;
    samples->stride = 1;
    for (uint32_t t = 0; t < samples->n_tiers; t++) {
        memcpy(samples->tier_name[t], tiers->tier[t].name, HM_NAME);
        samples->tier_kind[t] = (uint32_t)tiers->tier[t].kind;
        samples->tier_nodes[t] = tiers->tier[t].nodes;
    }
}

int hm_samples_create(const char *path, const struct hm_tiers *tiers, uint32_t interval_ms, struct hm_error *error)
{
    struct hm_samples samples = {0};
    if (tiers->n_tiers < 1 || tiers->n_tiers > HM_MAX_TIERS)
        return hm_fail(error, EINVAL, "%d memory tiers: 1 to %d can be sampled", tiers->n_tiers, HM_MAX_TIERS);
    set_up(&samples, tiers, interval_ms);
    if (hm_samples_check(&samples, error) != 0)
        return -1;
    return hm_grown_create(path, &samples, sizeof(samples), error);
}
