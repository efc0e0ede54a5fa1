/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the balance of two tiers: which curves of latency the migrator has, and what the balance is worth. */
#include <stdio.h>

#include "model.h"
#include "scene.h"

/* What the figures of the tiers lack for a curve, as a text, or NULL. */
static const char *lacks(const struct hm_part *part)
{
    if (part->tier->read_latency_ns.origin == HM_ORIGIN_NONE)
        return "read latency";
    return part->tier->read_bandwidth_mbs.origin == HM_ORIGIN_NONE ? "read bandwidth" : NULL;
}

/* Makes the curves of the tiers' figures, or says what these lack. */
static bool has_peaks(const struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                      struct hm_plan_balance *balance)
{
    const struct hm_part *parts[] = {fast, slow};
    struct hm_load_peaks *peaks = &balance->peaks;
    for (int i = 0; i < 2; i++) {
        if (!lacks(parts[i]))
            continue;
        snprintf(balance->why, sizeof(balance->why), "the %s of tier %.24s is not known", lacks(parts[i]),
                 parts[i]->tier->name);
        return false;
    }
    *peaks = (struct hm_load_peaks){.channels = hm_tiers_channels(scene->config, fast->tier, slow->tier),
                                    .fast_ns = (double)fast->tier->read_latency_ns.value,
                                    .fast_gbs = (double)fast->tier->read_bandwidth_mbs.value / 1000,
                                    .slow_ns = (double)slow->tier->read_latency_ns.value,
                                    .slow_gbs = (double)slow->tier->read_bandwidth_mbs.value / 1000};
    return true;
}

/* The most that the part's nodes serve, in MB/s, by the curve of its whole tier. */
static double most_mbs(const struct hm_part *part, const struct hm_curve *curve)
{
    return hm_curve_most_gbs(curve) * 1000 * part->n_nodes / hm_set_count(&part->tier->nodes);
}

/* Predicts what both tiers serve where the bandwidth is used up and all data is equally hot. */
static void predict(const struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                    const struct hm_load *load, struct hm_plan_balance *balance)
{
    double fast_mbs = most_mbs(fast, &load->fast), slow_mbs = most_mbs(slow, &load->slow);
    struct hm_part kept = *fast;
    uint64_t cap = scene->plan->migration.cap_bytes;
    if (cap > 0 && cap < kept.capacity_bytes)
        kept.capacity_bytes = cap;
    balance->share = hm_scene_share(scene, &kept, slow, hm_spill_best_share(load->channels, fast_mbs, slow_mbs));
    balance->bandwidth_mbs = hm_spill_bandwidth(load->channels, fast_mbs, slow_mbs, balance->share);
    balance->hottest_mbs =
        hm_spill_bandwidth(load->channels, fast_mbs, slow_mbs, hm_scene_share(scene, &kept, slow, 1));
}

void hm_plan_balance(struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow)
{
    struct hm_plan_balance *balance = &scene->plan->migration.balance;
    const struct hm_migrate_keys *keys = &scene->plan->migration.keys;
    struct hm_load load = {.channels = HM_CHANNELS_SHARED};
    balance->bandwidth_mbs = balance->hottest_mbs = balance->share = -1;
    if (keys->hot_by == HM_HOT_BY_WRITES || keys->algorithm == HM_ALGORITHM_BINS) {
        snprintf(balance->why, sizeof(balance->why), "%s",
                 keys->hot_by == HM_HOT_BY_WRITES ? "only writes make data hot"
                                                  : "the algorithm bins does not balance");
        return;
    }
    if (scene->plan->migration.n_middle > 0) {
        snprintf(balance->why, sizeof(balance->why), "a balance is known of two tiers, and there are more");
        return;
    }
    if (scene->config->load[0]) {
        balance->curves = HM_CURVES_FILE;
        if (scene->abilities->has_load)
            predict(scene, fast, slow, &scene->abilities->load, balance);
        return;
    }
    if (!has_peaks(scene, fast, slow, balance))
        return;
    balance->curves = HM_CURVES_TIERS;
    if (hm_load_of_peaks(&load, &balance->peaks, NULL) == 0)
        predict(scene, fast, slow, &load, balance);
}

const char *const hm_curves_words[] = {
    [HM_CURVES_NONE] = "none", [HM_CURVES_FILE] = "file", [HM_CURVES_TIERS] = "tiers", NULL};

const char *hm_curves_name(enum hm_curves curves)
{
    return hm_curves_words[curves];
}
