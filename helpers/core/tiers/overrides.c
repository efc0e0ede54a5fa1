/* SPDX-License-Identifier: Apache-2.0 */
/* Applies what hybridmem.conf says of tiers to what was found. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

#define PLACE 32

/* Write "hybridmem.conf:12", the place that a text is about. Returns `out`. */
static const char *place_of(int line, char out[PLACE])
{
    if (line > 0)
        snprintf(out, PLACE, HM_CONFIG_NAME ":%d", line);
    else
        snprintf(out, PLACE, HM_CONFIG_NAME);
    return out;
}

/* The kind of a tier in the configuration: as given, or its name where that is the name of a kind. */
static enum hm_kind kind_of(const struct hm_config_tier *config)
{
    enum hm_kind kind = config->kind;

    if (kind == HM_KIND_UNKNOWN && hm_kind_parse(config->name, &kind) < 0)
        return HM_KIND_UNKNOWN;
    return kind;
}

static int check_names(const struct hm_config *config, struct hm_error *error)
{
    char place[PLACE];
    for (int i = 0; i < config->n_tiers; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(config->tier[i].name, config->tier[j].name) == 0)
                return hm_fail(error, EINVAL, "%s: tier %s is there twice: give each tier a name of its own",
                               place_of(config->tier[i].line, place), config->tier[i].name);
        }
    }
    return 0;
}

/* Put a node into the tier. A node without memory is left out with a warning, a node outside the cpuset without a
 * warning. */
static int take_node(struct hm_tiers *tiers, const struct hm_config_tier *config, int id, struct hm_set *taken,
                     struct hm_tier *tier, struct hm_error *error)
{
    int index = hm_topology_index(&tiers->topology, id);
    char text[64], place[PLACE];

    place_of(config->line, place);
    if (index < 0) {
        struct hm_set there;
        hm_set_clear(&there);
        for (int i = 0; i < tiers->topology.n_nodes; i++)
            hm_set_add(&there, (unsigned)tiers->topology.node[i].id);
        return hm_fail(error, EINVAL, "%s: tier %s names node %d, which is not there: this machine has nodes %s", place,
                       config->name, id, hm_set_format(&there, text, sizeof(text)));
    }
    if (hm_set_has(taken, (unsigned)id))
        return hm_fail(error, EINVAL, "%s: tier %s names node %d, which another tier has: name each node once", place,
                       config->name, id);
    hm_set_add(taken, (unsigned)id);

    struct hm_node *node = &tiers->topology.node[index];
    if (kind_of(config) != HM_KIND_UNKNOWN) {
        node->kind = kind_of(config);
        node->kind_origin = HM_ORIGIN_CONFIG;
    }
    if (node->capacity_bytes == 0)
        hm_tiers_warn(tiers, "%s: tier %s names node %d, which has no memory now: left out", place, config->name, id);
    else if (node->allowed)
        hm_set_add(&tier->nodes, (unsigned)id);
    return 0;
}

int hm_tiers_config_nodes(struct hm_tiers *tiers, const struct hm_config *config, struct hm_tier_groups *groups,
                          struct hm_error *error)
{
    struct hm_set taken;

    hm_set_clear(&taken);
    if (check_names(config, error) < 0)
        return -1;
    for (int i = 0; i < config->n_tiers; i++) {
        const struct hm_config_tier *listed = &config->tier[i];
        if (!listed->has_nodes)
            continue;
        struct hm_tier_group group = {.config = listed, .is_listed = true};
        group.tier.kind = kind_of(listed);
        if (group.tier.kind != HM_KIND_UNKNOWN)
            group.tier.kind_origin = HM_ORIGIN_CONFIG;
        for (int id = hm_set_next(&listed->nodes, 0); id >= 0; id = hm_set_next(&listed->nodes, (unsigned)id + 1)) {
            if (take_node(tiers, listed, id, &taken, &group.tier, error) < 0)
                return -1;
        }
        if (!hm_set_is_empty(&group.tier.nodes))
            groups->group[groups->n++] = group;
    }
    return 0;
}

void hm_tiers_config_figures(struct hm_tier_group *group)
{
    const struct hm_config_tier *config = group->config;
    const struct {
        uint64_t value;
        struct hm_figure *figure;
    } rows[] = {
        {config->read_latency_ns, &group->tier.read_latency_ns},
        {config->read_bandwidth_mbs, &group->tier.read_bandwidth_mbs},
        {config->write_bandwidth_mbs, &group->tier.write_bandwidth_mbs},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].value)
            *rows[i].figure = (struct hm_figure){rows[i].value, HM_ORIGIN_CONFIG};
    }
    group->tier.energy = config->energy;
}

/* Find the only group of this kind that has no configuration yet. NULL: there is none, or more than one. */
static struct hm_tier_group *find_by_kind(struct hm_tier_groups *groups, enum hm_kind kind)
{
    struct hm_tier_group *found = NULL;
    for (int i = 0; i < groups->n; i++) {
        if (groups->group[i].tier.kind != kind || groups->group[i].config)
            continue;
        if (found)
            return NULL;
        found = &groups->group[i];
    }
    return found;
}

void hm_tiers_config_kinds(const struct hm_config *config, struct hm_tier_groups *groups)
{
    for (int i = 0; i < config->n_tiers; i++) {
        const struct hm_config_tier *named = &config->tier[i];
        struct hm_tier_group *group = kind_of(named) == HM_KIND_UNKNOWN ? NULL : find_by_kind(groups, kind_of(named));
        if (!named->has_nodes && group)
            group->config = named;
    }
    for (int i = 0; i < groups->n; i++)
        if (groups->group[i].config)
            hm_tiers_config_figures(&groups->group[i]);
}

/* Find the group with this tier name, or NULL. */
static struct hm_tier_group *find_by_name(struct hm_tier_groups *groups, const char *name)
{
    for (int i = 0; i < groups->n; i++) {
        if (strcmp(groups->group[i].tier.name, name) == 0)
            return &groups->group[i];
    }
    return NULL;
}

/* List the names of this machine's tiers: "dram, pmem". Returns `out`. */
static const char *list_names(const struct hm_tier_groups *groups, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < groups->n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i == 0 ? "" : ", ", groups->group[i].tier.name);
    return out;
}

void hm_tiers_config_names(struct hm_tiers *tiers, const struct hm_config *config, struct hm_tier_groups *groups)
{
    char place[PLACE], names[HM_WARNING];
    list_names(groups, names, sizeof(names));
    for (int i = 0; i < config->n_tiers; i++) {
        const struct hm_config_tier *named = &config->tier[i];
        struct hm_tier_group *group = find_by_name(groups, named->name);
        if (named->has_nodes || (group && group->config))
            continue;
        if (!group) {
            hm_tiers_warn(
                tiers,
                "%s: tier %s is ignored: it lists no nodes, no tier here has its name, and there is not exactly "
                "one tier of its kind; here are %s",
                place_of(named->line, place), named->name, names);
            continue;
        }
        group->config = named;
        if (kind_of(named) != HM_KIND_UNKNOWN) {
            group->tier.kind = kind_of(named);
            group->tier.kind_origin = HM_ORIGIN_CONFIG;
        }
        hm_tiers_config_figures(group);
    }
}

void hm_tiers_config_channels(struct hm_tiers *tiers, const struct hm_config *config,
                              const struct hm_tier_groups *groups)
{
    char place[PLACE], names[HM_WARNING];
    list_names(groups, names, sizeof(names));
    for (int i = 0; i < config->n_channels; i++) {
        const struct hm_config_channels *pair = &config->channels[i];
        bool is_here = false;
        for (int a = 0; a < groups->n; a++)
            for (int b = 0; b < a; b++)
                is_here = is_here || hm_tiers_are_pair(pair, &groups->group[a].tier, &groups->group[b].tier);
        if (!is_here)
            hm_tiers_warn(tiers,
                          "%s: channels %s+%s: no two tiers here have these names or kinds: ignored; here are %s",
                          place_of(pair->line, place), pair->fast, pair->slow, names);
    }
}
