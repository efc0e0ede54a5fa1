/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <errno.h>
#include <string.h>

const char *const hm_kind_words[] = {[HM_KIND_UNKNOWN] = "unknown", [HM_KIND_DRAM] = "dram", [HM_KIND_PMEM] = "pmem",
                                     [HM_KIND_CXL] = "cxl",         [HM_KIND_HBM] = "hbm",   NULL};

static const char *const origin_names[] = {
    [HM_ORIGIN_NONE] = "unknown", [HM_ORIGIN_CONFIG] = "hybridmem.conf", [HM_ORIGIN_ATTRIBUTES] = "hmat",
    [HM_ORIGIN_SYSFS] = "sysfs",  [HM_ORIGIN_DISTANCE] = "distance",     [HM_ORIGIN_HWLOC] = "hwloc",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *hm_kind_name(enum hm_kind kind)
{
    return hm_kind_words[(size_t)kind < COUNT(hm_kind_words) - 1 ? kind : HM_KIND_UNKNOWN];
}

int hm_kind_parse(const char *word, enum hm_kind *kind)
{
    for (int i = HM_KIND_DRAM; hm_kind_words[i]; i++) {
        if (strcmp(word, hm_kind_words[i]) == 0) {
            *kind = (enum hm_kind)i;
            return 0;
        }
    }
    errno = EINVAL;
    return -1;
}

const char *hm_origin_name(enum hm_origin origin)
{
    return (size_t)origin < COUNT(origin_names) ? origin_names[origin] : origin_names[HM_ORIGIN_NONE];
}

int hm_topology_index(const struct hm_topology *topology, int node_id)
{
    for (int i = 0; i < topology->n_nodes; i++) {
        if (topology->node[i].id == node_id)
            return i;
    }
    return -1;
}

int hm_topology_socket_of(const struct hm_topology *topology, int node_id)
{
    int index = node_id < 0 ? -1 : hm_topology_index(topology, node_id);
    if (index >= 0)
        return topology->node[index].socket;
    return topology->n_sockets == 1 ? 0 : -1;
}

void hm_topology_sockets_of_cpus(const struct hm_topology *topology, const struct hm_set *cpus, struct hm_set *sockets)
{
    hm_set_clear(sockets);
    for (int i = 0; i < topology->n_sockets; i++)
        if (hm_set_intersects(&topology->socket_cpus[i], cpus))
            hm_set_add(sockets, (unsigned)i);
}
