/* SPDX-License-Identifier: Apache-2.0 */
#include "loaded.h"

#include <math.h>

#define FEW 0.01   /* of the traffic: that of a few moves */
#define RECENT 0.6 /* weight that old traffic keeps at each phase, as old samples do (decide/extents.c) */

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
    loaded->last_fast = fast;
    loaded->last_slow = slow;
    loaded->recent_fast = loaded->recent_fast * RECENT + fast;
    loaded->recent_slow = loaded->recent_slow * RECENT + slow;
    loaded->weight = loaded->weight * RECENT + 1;
}

double hm_loaded_cost(const struct hm_loaded *loaded, const struct hm_replay_options *options)
{
    return loaded->cost_ns / hm_curve_idle_ns(&options->load->fast);
}

void hm_loaded_prices(const struct hm_replay_options *options, struct hm_decider_options *decider)
{
    const struct hm_load *load = options->load;
    decider->read_gain = decider->write_gain = 1;
    decider->promote_cost = decider->demote_cost =
        HM_LINES_PER_PAGE * (1 + hm_curve_idle_ns(&load->slow) / hm_curve_idle_ns(&load->fast));
}

double hm_loaded_mean(const struct hm_loaded_tier *tier)
{
    return tier->ns / tier->lines;
}

/* What it costs to read a line of one tier and to write it to the other, with the time by which that delays others. */
static double price_of_line(const struct hm_load *load, double fast, double slow)
{
    double step = FEW * (fast + slow);
    double more = hm_load_cost(load, fast + step, slow + step) - hm_load_cost(load, fast, slow);
    return step > 0 ? more / step / hm_curve_idle_ns(&load->fast) : INFINITY;
}

void hm_loaded_tell(const struct hm_loaded *loaded, const struct hm_replay_options *options,
                    struct hm_heat_share *share, struct hm_budget *budget)
{
    const struct hm_load *load = options->load;
    double last = loaded->last_fast + loaded->last_slow;
    double fast = hm_loaded_traffic(options, loaded->recent_fast / loaded->weight);
    double all = fast + hm_loaded_traffic(options, loaded->recent_slow / loaded->weight);
    double best = hm_load_best(load, all, all), moves = fabs(best - fast);
    /* Lines move in the next phase, in which most of the moves already hold. How far these get is not known yet. */
    double halfway = (fast + best) / 2;
    double saves = hm_load_cost(load, fast, all - fast) - hm_load_cost(load, best, all - best);
    share->fast = all > 0 ? best / all : 1;
    share->now = last > 0 ? loaded->last_fast / last : -1;
    share->price = HM_LINES_PER_PAGE * price_of_line(load, halfway, all - halfway);
    share->gain = moves > 0 ? saves / moves / hm_curve_idle_ns(&load->fast) : 0;
    budget->fast_latency = loaded->last_ns.fast_ns / hm_curve_idle_ns(&load->fast);
    budget->slow_latency = loaded->last_ns.slow_ns / hm_curve_idle_ns(&load->fast);
    budget->share = share;
}
