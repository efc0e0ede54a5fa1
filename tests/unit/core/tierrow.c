/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the topology and the configuration that a row describes, groups them into tiers, and compares these with what
 * the row expects. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tierrow.h"

struct hm_topology *tierrow_topology(const struct tierrow_node nodes[TIERROW_NODES])
{
    struct hm_topology *topology = calloc(1, sizeof(*topology));

    assert_non_null(topology);
    topology->n_sockets = 1;
    for (int i = 0; i < TIERROW_NODES && nodes[i].is_there; i++) {
        const struct tierrow_node *row = &nodes[i];
        struct hm_node *node = &topology->node[topology->n_nodes++];
        *node = (struct hm_node){.id = i,
                                 .kind = row->kind,
                                 .kind_origin = row->kind ? HM_ORIGIN_HWLOC : HM_ORIGIN_NONE,
                                 .sysfs_tier = row->sysfs_tier ? row->sysfs_tier : -1,
                                 .has_cpus = row->has_cpus,
                                 .allowed = !row->is_hidden,
                                 .is_device = row->is_device,
                                 .capacity_bytes = row->gib << 30,
                                 .side_cache_bytes = row->cache_gib << 30};
        if (row->bandwidth)
            node->read_bandwidth_mbs = (struct hm_figure){row->bandwidth, HM_ORIGIN_ATTRIBUTES};
        if (row->latency)
            node->read_latency_ns = (struct hm_figure){row->latency, HM_ORIGIN_ATTRIBUTES};
        topology->distance[0][i] = (uint8_t)(i == 0 ? 10 : row->distance);
    }
    return topology;
}

struct hm_config *tierrow_config(const struct tierrow_tier tiers[TIERROW_TIERS])
{
    struct hm_config *config = calloc(1, sizeof(*config));

    assert_non_null(config);
    for (int i = 0; i < TIERROW_TIERS && tiers[i].name; i++) {
        struct hm_config_tier *tier = &config->tier[config->n_tiers++];
        snprintf(tier->name, sizeof(tier->name), "%s", tiers[i].name);
        tier->has_nodes = tiers[i].nodes != NULL;
        if (tier->has_nodes)
            assert_int_equal(hm_set_parse(&tier->nodes, tiers[i].nodes, NULL), 0);
        tier->kind = tiers[i].kind;
        tier->read_latency_ns = tiers[i].latency;
        tier->read_bandwidth_mbs = tiers[i].bandwidth;
    }
    return config;
}

/* Write "NAME=KIND:NODES/LATENCY/BANDWIDTH" for each tier; 0: unknown. */
static void describe(const struct hm_tiers *tiers, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < tiers->n_tiers && length < size; i++) {
        const struct hm_tier *tier = &tiers->tier[i];
        char nodes[64];
        length += (size_t)snprintf(text + length, size - length, "%s%s=%s:%s/%llu/%llu", i ? " " : "", tier->name,
                                   hm_kind_name(tier->kind), hm_set_format(&tier->nodes, nodes, sizeof(nodes)),
                                   (unsigned long long)tier->read_latency_ns.value,
                                   (unsigned long long)tier->read_bandwidth_mbs.value);
    }
}

void tierrow_refuses(const struct tierrow_bad *rows, size_t n, struct hm_tiers *tiers)
{
    for (size_t i = 0; i < n; i++) {
        struct hm_topology *topology = tierrow_topology(rows[i].nodes);
        struct hm_config *config = tierrow_config(rows[i].tiers);
        struct hm_error error = {""};
        errno = 0;
        int result = hm_tiers_group(topology, config, tiers, &error);
        if (result != -1 || errno != rows[i].number || !strstr(error.text, rows[i].words))
            fail_msg("%s: %d, errno %d, \"%s\"", rows[i].what, result, errno, error.text);
        free(config);
        free(topology);
    }
}

void tierrow_groups(const struct tierrow *rows, size_t n, struct hm_tiers *tiers)
{
    for (size_t i = 0; i < n; i++) {
        struct hm_topology *topology = tierrow_topology(rows[i].nodes);
        struct hm_config *config = tierrow_config(rows[i].tiers);
        struct hm_error error = {""};
        char text[512];
        if (hm_tiers_group(topology, config, tiers, &error) < 0)
            fail_msg("%s: %s", rows[i].what, error.text);
        describe(tiers, text, sizeof(text));
        if (strcmp(text, rows[i].found) != 0)
            fail_msg("%s:\n found %s\nwanted %s", rows[i].what, text, rows[i].found);
        if (tiers->order_origin != rows[i].order)
            fail_msg("%s: ordered by %s", rows[i].what, hm_origin_name(tiers->order_origin));
        if (tiers->n_warnings != (rows[i].warning != NULL) ||
            (rows[i].warning && !strstr(tiers->warning[0], rows[i].warning)))
            fail_msg("%s: %d warnings, the first \"%s\"", rows[i].what, tiers->n_warnings,
                     tiers->n_warnings ? tiers->warning[0] : "");
        free(config);
        free(topology);
    }
}

int tierrow_setup(void **state)
{
    *state = calloc(1, sizeof(struct hm_tiers));
    return *state ? 0 : -1;
}

int tierrow_teardown(void **state)
{
    free(*state);
    return 0;
}
