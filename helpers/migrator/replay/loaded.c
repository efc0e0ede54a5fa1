/* SPDX-License-Identifier: Apache-2.0 */
#include "loaded.h"

double hm_loaded_traffic(const struct hm_replay_options *options, double lines)
{
    return lines * HM_LINE_BYTES / options->phase_s / 1e9;
}

static void add(struct hm_loaded_tier *tier, double lines, double latency_ns)
{
    tier->lines += lines;
    tier->ns += lines * latency_ns;
}

void hm_loaded_serve(struct hm_loaded *loaded, const struct hm_replay_options *options, double fast, double slow)
{
    double moved = loaded->moved_lines;
    struct hm_load_latencies now = hm_load_latencies(options->load, hm_loaded_traffic(options, fast + moved),
                                                     hm_loaded_traffic(options, slow + moved));
    add(&loaded->fast, fast, now.fast_ns);
    add(&loaded->slow, slow, now.slow_ns);
    loaded->cost_ns += (fast + moved) * now.fast_ns + (slow + moved) * now.slow_ns;
    loaded->moved_lines = 0;
    loaded->last_ns = now;
    hm_loadshare_add(&loaded->seen, hm_loaded_traffic(options, fast), hm_loaded_traffic(options, slow));
}

double hm_loaded_cost(const struct hm_loaded *loaded, const struct hm_replay_options *options)
{
    return loaded->cost_ns / hm_curve_idle_ns(&options->load->fast);
}

void hm_loaded_prices(const struct hm_replay_options *options, struct hm_decider_options *decider)
{
    const struct hm_load *load = options->load;
    decider->read_gain[1] = decider->write_gain[1] = 1;
    decider->move_cost[1][0] = decider->move_cost[0][1] =
        HM_LINES_PER_PAGE * (1 + hm_curve_idle_ns(&load->slow) / hm_curve_idle_ns(&load->fast));
}

double hm_loaded_mean(const struct hm_loaded_tier *tier)
{
    return tier->ns / tier->lines;
}

void hm_loaded_tell(const struct hm_loaded *loaded, const struct hm_replay_options *options,
                    struct hm_heat_share *share, struct hm_budget *budget)
{
    const struct hm_load *load = options->load;
    hm_loadshare_tell(&loaded->seen, load, HM_LINES_PER_PAGE, share);
    budget->fast_latency = loaded->last_ns.fast_ns / hm_curve_idle_ns(&load->fast);
    budget->slow_latency = loaded->last_ns.slow_ns / hm_curve_idle_ns(&load->fast);
    budget->share = share;
}
