/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include "base/words.h"

static const char *channels_of(const struct hm_load *load)
{
    return load->channels == HM_CHANNELS_SHARED ? "shared" : "separate";
}

void hm_replayload_text(FILE *out, size_t columns, size_t indent, const struct hm_replay_options *options)
{
    const struct hm_load *load = options->load;
    hm_words_put_text(out, columns, indent,
                      "Accesses: the share that the fast tier served. AMAT: 1 is the fast tier without load, %.6g ns "
                      "(slow: %.6g ns). Latencies are those under the traffic of each phase of %.6g s; the tiers are "
                      "saturated at %.6g and %.6g GB/s, with %s channels.",
                      hm_curve_idle_ns(&load->fast), hm_curve_idle_ns(&load->slow), options->phase_s,
                      hm_curve_most_gbs(&load->fast), hm_curve_most_gbs(&load->slow), channels_of(load));
}

static json_t *json_tier(const struct hm_curve *curve)
{
    return json_pack("{s:f, s:f}", "idle_ns", hm_curve_idle_ns(curve), "most_gbs", hm_curve_most_gbs(curve));
}

json_t *hm_replayload_json(const struct hm_replay_options *options)
{
    const struct hm_load *load = options->load;
    return json_pack("{s:s, s:f, s:o, s:o}", "channels", channels_of(load), "phase_s", options->phase_s, "fast",
                     json_tier(&load->fast), "slow", json_tier(&load->slow));
}
