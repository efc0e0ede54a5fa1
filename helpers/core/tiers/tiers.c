/* SPDX-License-Identifier: Apache-2.0 */
#include "tiers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fit.h"

#include "parts.h"

int hm_tiers_of_node(const struct hm_tiers *tiers, int node_id)
{
    if (node_id < 0)
        return -1;
    for (int i = 0; i < tiers->n_tiers; i++) {
        if (hm_set_has(&tiers->tier[i].nodes, (unsigned)node_id))
            return i;
    }
    return -1;
}

void hm_tiers_warn(struct hm_tiers *tiers, const char *format, ...)
{
    if (tiers->n_warnings == HM_MAX_WARNINGS)
        return;
    va_list arguments;
    va_start(arguments, format);
    hm_fit_list(tiers->warning[tiers->n_warnings++], HM_WARNING, format, arguments);
    va_end(arguments);
}

static bool name_is_taken(const struct hm_tier_groups *groups, const char *name)
{
    for (int i = 0; i < groups->n; i++) {
        if (strcmp(groups->group[i].tier.name, name) == 0)
            return true;
    }
    return false;
}

/* Names are "cxl", then "cxl2", "cxl3". One digit is enough, as fewer than HM_MAX_TIERS names can be taken. */
_Static_assert(HM_MAX_TIERS < 9, "names are numbered with one digit");

static void set_free_name(struct hm_tier_groups *groups, struct hm_tier *tier, const char *wish)
{
    char name[HM_NAME];

    snprintf(name, sizeof(name), "%s", wish);
    for (char digit = '2'; name_is_taken(groups, name); digit++)
        snprintf(name, sizeof(name), "%.16s%c", wish, digit);
    memcpy(tier->name, name, sizeof(name));
}

static void name_tiers(struct hm_tier_groups *groups)
{
    for (int i = 0; i < groups->n; i++) {
        struct hm_tier_group *group = &groups->group[i];
        if (group->config)
            memcpy(group->tier.name, group->config->name, HM_NAME);
    }
    for (int i = 0; i < groups->n; i++) {
        struct hm_tier *tier = &groups->group[i].tier;
        if (tier->name[0])
            continue;
        if (tier->kind != HM_KIND_UNKNOWN) {
            set_free_name(groups, tier, hm_kind_name(tier->kind));
        } else if (i == 0 || i == groups->n - 1) {
            set_free_name(groups, tier, i == 0 ? "fast" : "slow");
        } else {
            char name[HM_NAME];
            snprintf(name, sizeof(name), "tier%d", i + 1);
            set_free_name(groups, tier, name);
        }
    }
}

/*
 * Warn of an order that may be wrong, without changing it. A slow kind can come first because each of its nodes has
 * more bandwidth (with sub-NUMA clusters several nodes share a socket's DRAM, while an expander is one node). Without
 * figures, HBM looks slow because it has no CPUs; its smaller size is the only hint.
 */
static void warn_of_doubtful_order(struct hm_tiers *tiers, const struct hm_tier_groups *groups)
{
    static const char remedy[] = "where that is wrong, list both tiers' nodes in hybridmem.conf, fastest first";

    if (tiers->order_origin == HM_ORIGIN_NONE)
        hm_tiers_warn(
            tiers,
            "nothing tells for sure which tier is faster: list the tiers' nodes in hybridmem.conf, fastest first");
    for (int i = 0; i + 1 < tiers->n_tiers; i++) {
        enum hm_origin reason = groups->group[i].before_next;
        const struct hm_tier *fast = &tiers->tier[i], *slow = &tiers->tier[i + 1];
        if (reason != HM_ORIGIN_CONFIG && (fast->kind == HM_KIND_CXL || fast->kind == HM_KIND_PMEM) &&
            (slow->kind == HM_KIND_DRAM || slow->kind == HM_KIND_HBM))
            hm_tiers_warn(tiers, "tier %s comes before %s because its nodes have more bandwidth each: %s", fast->name,
                          slow->name, remedy);
        if (reason == HM_ORIGIN_DISTANCE && slow->kind == HM_KIND_UNKNOWN &&
            slow->capacity_bytes < fast->capacity_bytes)
            hm_tiers_warn(
                tiers,
                "tier %s comes after %s because it has no CPUs or is further away, but it is smaller, as HBM is: %s",
                slow->name, fast->name, remedy);
    }
}

static void warn_of_hidden_nodes(struct hm_tiers *tiers, struct hm_set *hidden)
{
    char text[64];

    hm_set_clear(hidden);
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &tiers->topology.node[i];
        if (node->capacity_bytes > 0 && !node->allowed)
            hm_set_add(hidden, (unsigned)node->id);
    }
    if (!hm_set_is_empty(hidden))
        hm_tiers_warn(tiers, "the cpuset of this process hides nodes %s: they are in no tier",
                      hm_set_format(hidden, text, sizeof(text)));
}

int hm_tiers_group(const struct hm_topology *topology, const struct hm_config *config, struct hm_tiers *tiers,
                   struct hm_error *error)
{
    struct hm_tier_groups groups = {0};
    struct hm_set hidden;

    if (topology != &tiers->topology)
        tiers->topology = *topology;
    tiers->n_tiers = 0;
    tiers->n_warnings = 0;
    memset(tiers->tier, 0, sizeof(tiers->tier));
    warn_of_hidden_nodes(tiers, &hidden);
    if (config && hm_tiers_config_nodes(tiers, config, &groups, error) < 0)
        return -1;
    hm_tiers_infer_kinds(&tiers->topology);
    hm_tiers_group_found(tiers, &groups);
    if (groups.n == 0) {
        if (!hm_set_is_empty(&hidden))
            return hm_fail(error, ENODEV, "there is no memory to use: %s", tiers->warning[0]);
        return hm_fail(error, ENODEV, "no NUMA node with memory was found");
    }
    for (int i = 0; i < groups.n; i++)
        hm_tiers_sum(&tiers->topology, &groups.group[i]);
    if (config)
        hm_tiers_config_kinds(config, &groups);
    tiers->order_origin = hm_tiers_order(&groups);
    name_tiers(&groups);
    if (config) {
        hm_tiers_config_names(tiers, config, &groups);
        hm_tiers_config_channels(tiers, config, &groups);
    }
    for (int i = 0; i < groups.n; i++)
        tiers->tier[i] = groups.group[i].tier;
    tiers->n_tiers = groups.n;
    warn_of_doubtful_order(tiers, &groups);
    return 0;
}
