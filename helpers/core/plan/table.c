/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include "core/request/keys.h"
#include "plan.h"

static const char *const modes[] = {
#define HM_MODE(id, word, planner, ...) [HM_MODE_##id] = #word,
#include "core/request/modes.def"
    [HM_MODES] = NULL};
static const char *const policies[] = {[HM_POLICY_DEFAULT] = "default",
                                       [HM_POLICY_BIND] = "bind",
                                       [HM_POLICY_INTERLEAVE] = "interleave",
                                       [HM_POLICY_WEIGHTED_INTERLEAVE] = "weighted-interleave",
                                       [HM_POLICY_PREFERRED_MANY] = "preferred-many",
                                       [HM_POLICY_BIND_BALANCING] = "bind-balancing",
                                       NULL};

static const struct hm_field keys_table[] = {
    HM_FIELD(hm_migrate_keys, fast_bytes),
    HM_FIELD(hm_migrate_keys, fast_percent),
    HM_FIELD(hm_migrate_keys, period),
    HM_FIELD(hm_migrate_keys, interval_ms),
    HM_FIELD(hm_migrate_keys, bins),
    HM_FIELD(hm_migrate_keys, rate_bytes),
    HM_FIELD(hm_migrate_keys, overhead_percent),
    HM_FIELD_WORDS(hm_migrate_keys, algorithm, hm_algorithm_words),
    HM_FIELD_WORDS(hm_migrate_keys, hot_by, hm_hot_by_words),
    HM_FIELD(hm_migrate_keys, source),
    {.name = NULL},
};

static const struct hm_field guide_keys_table[] = {
    HM_FIELD(hm_guide_keys, profile),
    HM_FIELD(hm_guide_keys, packer),
    HM_FIELD(hm_guide_keys, migrate),
    HM_FIELD(hm_guide_keys, online),
    HM_FIELD_WORDS(hm_guide_keys, fallback, hm_fallback_words),
    HM_FIELD_WORDS(hm_guide_keys, stale, hm_stale_words),
    {.name = NULL},
};

static const struct hm_field profile_keys_table[] = {
    HM_FIELD_WORDS(hm_profile_keys, method, hm_method_words),
    HM_FIELD(hm_profile_keys, period),
    HM_FIELD(hm_profile_keys, plan),
    {.name = NULL},
};

static const struct hm_field request_table[] = {
    HM_FIELD_WORDS(hm_request, mode, modes),
    HM_FIELD_WORDS(hm_request, socket, hm_socket_words),
    HM_FIELD_GROUP_OF(hm_request, migrate, keys_table),
    HM_FIELD_GROUP_OF(hm_request, guide, guide_keys_table),
    HM_FIELD_GROUP_OF(hm_request, profile, profile_keys_table),
    HM_FIELD(hm_request, input),
    HM_FIELD(hm_request, size_bytes),
    HM_FIELD(hm_request, keep),
    HM_FIELD(hm_request, text),
    {.name = NULL},
};

static const char *const channels[] = {[HM_CHANNELS_SHARED] = "shared", [HM_CHANNELS_SEPARATE] = "separate", NULL};

static const struct hm_field peaks_table[] = {
    HM_FIELD_WORDS(hm_load_peaks, channels, channels),
    HM_FIELD(hm_load_peaks, fast_ns),
    HM_FIELD(hm_load_peaks, fast_gbs),
    HM_FIELD(hm_load_peaks, slow_ns),
    HM_FIELD(hm_load_peaks, slow_gbs),
    {.name = NULL},
};

static const struct hm_field balance_table[] = {
    HM_FIELD_WORDS(hm_plan_balance, curves, hm_curves_words),
    HM_FIELD_GROUP_OF(hm_plan_balance, peaks, peaks_table),
    HM_FIELD(hm_plan_balance, why),
    HM_FIELD(hm_plan_balance, share),
    HM_FIELD(hm_plan_balance, bandwidth_mbs),
    HM_FIELD(hm_plan_balance, hottest_mbs),
    {.name = NULL},
};

static const struct hm_field middle_table[] = {
    HM_FIELD(hm_plan_middle, nodes),
    HM_FIELD(hm_plan_middle, read_latency),
    HM_FIELD(hm_plan_middle, write_latency),
    {.name = NULL},
};

static const struct hm_field migration_table[] = {
    HM_FIELD(hm_plan_migration, is_wanted),
    HM_FIELD(hm_plan_migration, fast_nodes),
    HM_FIELD(hm_plan_migration, slow_nodes),
    HM_FIELD(hm_plan_migration, n_middle),
    HM_FIELD_GROUPS(hm_plan_migration, middle, middle_table, HM_COUNTED_BY(hm_plan_migration, n_middle)),
    HM_FIELD(hm_plan_migration, cap_bytes),
    HM_FIELD(hm_plan_migration, read_latency),
    HM_FIELD(hm_plan_migration, write_latency),
    HM_FIELD_GROUP_OF(hm_plan_migration, keys, keys_table),
    HM_FIELD_GROUP_OF(hm_plan_migration, balance, balance_table),
    {.name = NULL},
};

static const struct hm_field fsdax_table[] = {
    HM_FIELD(hm_plan_fsdax, is_wanted),  HM_FIELD(hm_plan_fsdax, is_kept),   HM_FIELD(hm_plan_fsdax, sockets),
    HM_FIELD(hm_plan_fsdax, size_bytes), HM_FIELD(hm_plan_fsdax, map_bytes), {.name = NULL},
};

static const struct hm_field guide_table[] = {
    HM_FIELD(hm_plan_guide, is_wanted),
    HM_FIELD(hm_plan_guide, fast_nodes),
    HM_FIELD(hm_plan_guide, slow_nodes),
    HM_FIELD(hm_plan_guide, fast_bytes),
    HM_FIELD(hm_plan_guide, overhead_percent),
    HM_FIELD(hm_plan_guide, read_latency),
    {.name = NULL},
};

const struct hm_field hm_plan_table[] = {
    HM_FIELD_GROUP_OF(hm_plan, request, request_table),
    HM_FIELD_WORDS(hm_plan, policy, policies),
    HM_FIELD(hm_plan, nodes),
    HM_FIELD(hm_plan, has_weights),
    HM_FIELD(hm_plan, must_set_weights),
    HM_FIELD(hm_plan, weights_auto),
    HM_FIELD_LIST(hm_plan, weights),
    HM_FIELD(hm_plan, side_cache_bytes),
    HM_FIELD(hm_plan, reserve_bytes),
    HM_FIELD(hm_plan, predicted_bandwidth_mbs),
    HM_FIELD_GROUP_OF(hm_plan, migration, migration_table),
    HM_FIELD_GROUP_OF(hm_plan, fsdax, fsdax_table),
    HM_FIELD_GROUP_OF(hm_plan, guide, guide_table),
    HM_FIELD(hm_plan, reason),
    HM_FIELD(hm_plan, n_warnings),
    HM_FIELD_LIST(hm_plan, warning, HM_COUNTED_BY(hm_plan, n_warnings)),
    {.name = NULL},
};

const char *hm_policy_name(enum hm_policy policy)
{
    return policies[policy];
}
