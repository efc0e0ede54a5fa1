/* SPDX-License-Identifier: Apache-2.0 */
#include "planprint.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/plural.h"
#include "base/size.h"
#include "base/words.h"
#include "cli/draw/figures.h"

#define TEXT_COLUMN 11
#define MOST_TEXT 4096

/* Prints "LABEL  TEXT" (printf style), broken at the terminal's width. */
__attribute__((format(printf, 2, 3))) static void put(const char *label, const char *format, ...)
{
    char text[MOST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    hm_words_put_row(stdout, hm_words_columns(stdout), TEXT_COLUMN, text, "%s", label);
}

/* Prints the keys of migration. The lines cap, rate, period and bins are left out where the migrator chooses, or where
 * there is no limit. */
static void print_migration(const struct hm_plan_migration *migration)
{
    const struct hm_migrate_keys *keys = &migration->keys;
    char nodes[128], tiers[HM_MAX_TIERS * (sizeof(nodes) + sizeof(" <- "))], size[24];
    size_t used =
        (size_t)snprintf(tiers, sizeof(tiers), "%s", hm_set_format(&migration->fast_nodes, nodes, sizeof(nodes)));
    for (uint32_t i = 0; i <= migration->n_middle && used < sizeof(tiers); i++) {
        const struct hm_set *next = i < migration->n_middle ? &migration->middle[i].nodes : &migration->slow_nodes;
        used +=
            (size_t)snprintf(tiers + used, sizeof(tiers) - used, " <- %s", hm_set_format(next, nodes, sizeof(nodes)));
    }
    put("migrator", "%s, algorithm %s, source %s, hot by %s, a decision every %.9g s, overhead %.9g%%", tiers,
        hm_algorithm_name(keys->algorithm), keys->source, hm_hot_by_name(keys->hot_by),
        (double)keys->interval_ms / 1000, keys->overhead_percent);
    if (migration->cap_bytes > 0)
        put("cap", "%s of the fast tier", hm_size_format(migration->cap_bytes, size, sizeof(size)));
    if (keys->rate_bytes > 0)
        put("rate", "%s per second", hm_size_format(keys->rate_bytes, size, sizeof(size)));
    if (keys->period > 0)
        put("period", "%llu accesses per sample", (unsigned long long)keys->period);
    if (keys->bins > 0)
        put("bins", "%llu", (unsigned long long)keys->bins);
}

/* Prints what the balance is worth, where it is worth anything. */
static void print_balance(const struct hm_plan_balance *balance)
{
    if (balance->bandwidth_mbs <= balance->hottest_mbs)
        return;
    put("balance",
        "where the bandwidth is used up: %.1f GB/s with %.0f%% of the accesses in the fast tier, %.1f GB/s with as "
        "many there as fit (curves: %s)",
        balance->bandwidth_mbs / 1000, balance->share * 100, balance->hottest_mbs / 1000,
        balance->curves == HM_CURVES_FILE ? "the file in hybridmem.conf" : "latencies and bandwidths of the tiers");
}

static void print_fsdax(const struct hm_plan_fsdax *fsdax)
{
    char text[128], size[24];
    put("fsdax", "%s on %s %s%s", hm_size_format(fsdax->size_bytes, size, sizeof(size)),
        hm_plural(hm_set_count(&fsdax->sockets), "socket", "sockets"),
        hm_set_format(&fsdax->sockets, text, sizeof(text)), fsdax->is_kept ? ", kept" : "");
}

/* Prints weights by node, as "0:3 2:1". */
static void print_weights(const struct hm_plan *plan, const struct hm_topology *topology)
{
    char text[MOST_TEXT] = "";
    size_t used = 0;
    for (int i = 0; i < topology->n_nodes && used < sizeof(text); i++)
        if (plan->weights[i])
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%d:%u ", topology->node[i].id, plan->weights[i]);
    put("weights", "%s(%s%s)", text, plan->must_set_weights ? "set for the job" : "as they are now",
        !plan->weights_auto      ? ""
        : plan->must_set_weights ? "; at other times the kernel sets them"
                                 : ", set by the kernel");
}

void hm_planprint_text(const struct hm_plan *plan, const struct hm_topology *topology)
{
    char text[512];
    put("mode", "%s", hm_request_mode_name(&plan->request));
    put("policy", "%s", hm_policy_name(plan->policy));
    if (!hm_set_is_empty(&plan->nodes))
        put("nodes", "%s", hm_set_format(&plan->nodes, text, sizeof(text)));
    if (plan->has_weights)
        print_weights(plan, topology);
    if (plan->side_cache_bytes > 0)
        put("cache", "%s", hm_size_format(plan->side_cache_bytes, text, sizeof(text)));
    if (plan->reserve_bytes > 0)
        put("reserve", "%s", hm_size_format(plan->reserve_bytes, text, sizeof(text)));
    if (plan->predicted_bandwidth_mbs >= 0)
        put("predicted", "%.1f GB/s read bandwidth, by the model", plan->predicted_bandwidth_mbs / 1000);
    if (plan->migration.is_wanted) {
        print_migration(&plan->migration);
        print_balance(&plan->migration.balance);
    }
    if (plan->fsdax.is_wanted)
        print_fsdax(&plan->fsdax);
    put("reason", "%s", plan->reason);
    for (int i = 0; i < plan->n_warnings; i++)
        put("warning", "%s", plan->warning[i]);
}

static json_t *weights_object(const struct hm_plan *plan, const struct hm_topology *topology)
{
    char key[16];
    size_t n = 0;
    if (!plan->has_weights)
        return json_null();
    json_t *object = json_object();
    for (int i = 0; i < topology->n_nodes; i++) {
        if (plan->weights[i] == 0)
            continue;
        snprintf(key, sizeof(key), "%d", topology->node[i].id);
        json_object_set_new(object, key, json_integer(plan->weights[i]));
        n++;
    }
    return hm_figures_whole(object, n);
}

static json_t *number_or_null(uint64_t number)
{
    return number > 0 ? json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number) : json_null();
}

static json_t *ratio_or_null(double ratio)
{
    return ratio > 0 ? json_real(ratio) : json_null();
}

static json_t *known_or_null(double number)
{
    return number >= 0 ? json_real(number) : json_null();
}

static json_t *balance_object(const struct hm_plan_balance *balance)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "curves", hm_curves_name(balance->curves), "why",
                     balance->why[0] ? json_string(balance->why) : json_null(), "share", known_or_null(balance->share),
                     "bandwidth_mbs", known_or_null(balance->bandwidth_mbs), "hottest_first_mbs",
                     known_or_null(balance->hottest_mbs));
}

/* The tiers between the fast and the slow one. */
static json_t *middle_array(const struct hm_plan_migration *migration)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < migration->n_middle; i++) {
        const struct hm_plan_middle *middle = &migration->middle[i];
        json_array_append_new(array, json_pack("{s:o, s:o, s:o}", "nodes", hm_figures_set(&middle->nodes),
                                               "read_latency", ratio_or_null(middle->read_latency), "write_latency",
                                               ratio_or_null(middle->write_latency)));
    }
    return hm_figures_whole(array, migration->n_middle);
}

static json_t *migration_object(const struct hm_plan_migration *migration)
{
    const struct hm_migrate_keys *keys = &migration->keys;
    if (!migration->is_wanted)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s, s:s, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "fast_nodes",
                     hm_figures_set(&migration->fast_nodes), "middle_tiers", middle_array(migration), "slow_nodes",
                     hm_figures_set(&migration->slow_nodes), "cap_bytes", number_or_null(migration->cap_bytes),
                     "algorithm", hm_algorithm_name(keys->algorithm), "source", keys->source, "hot_by",
                     hm_hot_by_name(keys->hot_by), "interval_s", (double)keys->interval_ms / 1000, "overhead",
                     keys->overhead_percent / 100, "period", number_or_null(keys->period), "bins",
                     number_or_null(keys->bins), "rate_bytes", number_or_null(keys->rate_bytes), "read_latency",
                     ratio_or_null(migration->read_latency), "write_latency", ratio_or_null(migration->write_latency),
                     "balance", balance_object(&migration->balance));
}

static json_t *fsdax_object(const struct hm_plan_fsdax *fsdax)
{
    if (!fsdax->is_wanted)
        return json_null();
    return json_pack("{s:o, s:I, s:I, s:b}", "sockets", hm_figures_set(&fsdax->sockets), "size_bytes",
                     (json_int_t)fsdax->size_bytes, "map_bytes", (json_int_t)fsdax->map_bytes, "keep",
                     (int)fsdax->is_kept);
}

int hm_planprint_json(const struct hm_plan *plan, const struct hm_topology *topology)
{
    json_t *warnings = json_array();
    for (int i = 0; i < plan->n_warnings; i++)
        json_array_append_new(warnings, json_string(plan->warning[i]));
    json_t *predicted = known_or_null(plan->predicted_bandwidth_mbs);
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:o}", "mode",
                               hm_request_mode_name(&plan->request), "policy", hm_policy_name(plan->policy), "nodes",
                               hm_figures_set(&plan->nodes), "weights", weights_object(plan, topology), "weights_auto",
                               plan->has_weights ? json_boolean(plan->weights_auto) : json_null(), "reason",
                               plan->reason, "warnings", hm_figures_whole(warnings, (size_t)plan->n_warnings),
                               "predicted_bandwidth_mbs", predicted, "reserve_bytes", (json_int_t)plan->reserve_bytes,
                               "migration", migration_object(&plan->migration), "fsdax", fsdax_object(&plan->fsdax),
                               "side_cache_bytes", number_or_null(plan->side_cache_bytes));
    return hm_figures_end(stdout, object, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
}
