/* SPDX-License-Identifier: Apache-2.0 */
/* The bandwidth that a kernel (a loop over memory: kernels.h) should reach, by the tiers' bandwidths and by where its
 * arrays are. */
#include "bench.h"

#define MB 1e6

double hm_bench_predict(const struct hm_bench_speed *speed, const double read_bytes[2], const double write_bytes[2])
{
    double seconds[2] = {0, 0}, bytes = 0;
    for (int tier = 0; tier < 2; tier++) {
        if ((read_bytes[tier] > 0 && !(speed->read_mbs[tier] > 0)) ||
            (write_bytes[tier] > 0 && !(speed->write_mbs[tier] > 0)))
            return -1;
        if (read_bytes[tier] > 0)
            seconds[tier] += read_bytes[tier] / (speed->read_mbs[tier] * MB);
        if (write_bytes[tier] > 0)
            seconds[tier] += write_bytes[tier] / (speed->write_mbs[tier] * MB);
        bytes += read_bytes[tier] + write_bytes[tier];
    }
    if (!(bytes > 0))
        return -1;
    double longer = seconds[0] > seconds[1] ? seconds[0] : seconds[1];
    return bytes / MB / (speed->channels == HM_CHANNELS_SHARED ? seconds[0] + seconds[1] : longer);
}

static double figure_of(const struct hm_figure *figure)
{
    return figure->origin == HM_ORIGIN_NONE ? 0 : (double)figure->value;
}

double hm_bench_predict_result(const struct hm_bench *bench, const struct hm_bench_result *result)
{
    const struct hm_tier *tier[2] = {&bench->tiers.tier[0], &bench->tiers.tier[bench->tiers.n_tiers - 1]};
    struct hm_bench_speed speed = {.channels = hm_tiers_channels(&bench->config, tier[0], tier[1])};
    double bytes[HM_BENCH_ROLES][2];
    for (int i = 0; i < 2; i++) {
        speed.read_mbs[i] = figure_of(&tier[i]->read_bandwidth_mbs);
        speed.write_mbs[i] = figure_of(&tier[i]->write_bandwidth_mbs);
    }
    for (int role = 0; role < HM_BENCH_ROLES; role++) {
        const struct hm_bench_place *place = &result->place[role];
        if (place->other_bytes > 0 || place->file_bytes > 0)
            return -1;
        bytes[role][0] = (double)place->fast_bytes;
        bytes[role][1] = (double)place->slow_bytes;
    }
    return hm_bench_predict(&speed, bytes[HM_BENCH_READ], bytes[HM_BENCH_WRITTEN]);
}
