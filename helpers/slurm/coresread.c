/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the cores of this machine. */
#include <stdio.h>

#include "base/files.h"
#include "cores.h"

#define CPUS "/sys/devices/system/cpu"

static int read_list(const char *path, struct hm_set *set)
{
    char text[4096];
    return hm_file_read(path, text, sizeof(text), NULL) == 0 ? hm_set_parse(set, text, NULL) : -1;
}

/* Read the CPUs that are online, and those that share a core with the first one. Returns 0 or -1. */
static int read_cpus(struct hm_set *cpus, struct hm_set *siblings)
{
    char path[128];
    if (read_list(CPUS "/online", cpus) != 0)
        return -1;
    /* The first core stands for all: nodes of compute clusters have cores of one kind. */
    snprintf(path, sizeof(path), CPUS "/cpu%d/topology/thread_siblings_list", hm_set_next(cpus, 0));
    return read_list(path, siblings);
}

unsigned hm_cores_siblings(void)
{
    struct hm_set cpus, siblings;
    return read_cpus(&cpus, &siblings) == 0 ? hm_set_count(&siblings) : 0;
}

int hm_cores_of_node(struct hm_set *cores)
{
    struct hm_set cpus, siblings;
    hm_set_clear(cores);
    if (read_cpus(&cpus, &siblings) != 0)
        return -1;
    unsigned count = hm_cores_count(hm_set_count(&cpus), hm_set_count(&siblings));
    for (unsigned core = 0; core < count; core++)
        hm_set_add(cores, core);
    return count > 0 ? 0 : -1;
}
