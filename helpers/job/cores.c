/* SPDX-License-Identifier: Apache-2.0 */
#include "cores.h"

#include <stdio.h>

#include "files.h"

#define CPUS "/sys/devices/system/cpu"

unsigned hm_cores_count(unsigned cpus, unsigned siblings)
{
    return siblings > 0 ? cpus / siblings : 0;
}

void hm_cores_spread(const struct hm_set *cpus, const struct hm_topology *topology, struct hm_set *sockets_cpus)
{
    unsigned first = 0;
    hm_set_clear(sockets_cpus);
    for (int i = 0; i < topology->n_sockets; i++) {
        unsigned behind = first + hm_set_count(&topology->socket_cpus[i]);
        int next = hm_set_next(cpus, first);
        if (next >= 0 && (unsigned)next < behind)
            hm_set_union(sockets_cpus, &topology->socket_cpus[i]);
        first = behind;
    }
}

static int read_list(const char *path, struct hm_set *set)
{
    char text[4096];
    return hm_file_read(path, text, sizeof(text), NULL) == 0 ? hm_set_parse(set, text, NULL) : -1;
}

int hm_cores_of_node(struct hm_set *cores)
{
    struct hm_set cpus, siblings;
    char path[128];
    hm_set_clear(cores);
    if (read_list(CPUS "/online", &cpus) != 0)
        return -1;
    /* The nodes of a cluster for computing have cores of one kind: the first stands for all. */
    snprintf(path, sizeof(path), CPUS "/cpu%d/topology/thread_siblings_list", hm_set_next(&cpus, 0));
    if (read_list(path, &siblings) != 0)
        return -1;
    unsigned count = hm_cores_count(hm_set_count(&cpus), hm_set_count(&siblings));
    for (unsigned core = 0; core < count; core++)
        hm_set_add(cores, core);
    return count > 0 ? 0 : -1;
}
