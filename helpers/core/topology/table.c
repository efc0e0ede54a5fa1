/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "topology.h"

static const char *const origins[] = {[HM_ORIGIN_NONE] = "none",
                                      [HM_ORIGIN_CONFIG] = "config",
                                      [HM_ORIGIN_ATTRIBUTES] = "attributes",
                                      [HM_ORIGIN_SYSFS] = "sysfs",
                                      [HM_ORIGIN_DISTANCE] = "distance",
                                      [HM_ORIGIN_HWLOC] = "hwloc",
                                      NULL};

static int read_int(const void *value)
{
    int number;
    memcpy(&number, value, sizeof(number));
    return number;
}

static bool is_node(const void *value)
{
    return read_int(value) >= 0 && read_int(value) < HM_SET_BITS;
}

/* A socket's index; -1 where it is unknown. */
static bool is_socket(const void *value)
{
    return read_int(value) >= -1 && read_int(value) < HM_MAX_SOCKETS;
}

static bool is_tier(const void *value)
{
    return read_int(value) >= -1;
}

static const struct hm_field figure_table[] = {
    HM_FIELD(hm_figure, value),
    HM_FIELD_WORDS(hm_figure, origin, origins),
    {.name = NULL},
};

static const struct hm_field node_table[] = {
    HM_FIELD(hm_node, id, .is_right = is_node),
    HM_FIELD(hm_node, socket, .is_right = is_socket),
    HM_FIELD_WORDS(hm_node, kind, hm_kind_words),
    HM_FIELD_WORDS(hm_node, kind_origin, origins),
    HM_FIELD(hm_node, sysfs_tier, .is_right = is_tier),
    HM_FIELD(hm_node, has_cpus),
    HM_FIELD(hm_node, allowed),
    HM_FIELD(hm_node, is_device),
    HM_FIELD(hm_node, movable_only),
    HM_FIELD(hm_node, capacity_bytes),
    HM_FIELD(hm_node, free_bytes),
    HM_FIELD(hm_node, side_cache_bytes),
    HM_FIELD(hm_node, cpus),
    HM_FIELD_GROUP_OF(hm_node, read_latency_ns, figure_table),
    HM_FIELD_GROUP_OF(hm_node, write_latency_ns, figure_table),
    HM_FIELD_GROUP_OF(hm_node, read_bandwidth_mbs, figure_table),
    HM_FIELD_GROUP_OF(hm_node, write_bandwidth_mbs, figure_table),
    {.name = NULL},
};

/* One row of the matrix of distances. */
static const struct hm_field distance_table[] = {
    {.name = "to", .type = HM_FIELD_UNSIGNED, .size = 1, .places = HM_MAX_NODES},
    {.name = NULL},
};

const struct hm_field hm_topology_table[] = {
    HM_FIELD(hm_topology, n_nodes),
    HM_FIELD_GROUPS(hm_topology, node, node_table, HM_COUNTED_BY(hm_topology, n_nodes)),
    HM_FIELD_GROUPS(hm_topology, distance, distance_table, HM_COUNTED_BY(hm_topology, n_nodes)),
    HM_FIELD(hm_topology, has_free),
    HM_FIELD(hm_topology, n_sockets),
    HM_FIELD_LIST(hm_topology, socket_cpus, HM_COUNTED_BY(hm_topology, n_sockets)),
    HM_FIELD(hm_topology, allowed_cpus),
    {.name = NULL},
};
