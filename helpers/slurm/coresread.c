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

unsigned hm_cores_siblings(void)
{
    struct hm_set cpus, siblings;
    char path[128];
    if (read_list(CPUS "/online", &cpus) != 0)
        return 0;
    /* The first core stands for all: nodes of compute clusters have cores of one kind. */
    snprintf(path, sizeof(path), CPUS "/cpu%d/topology/thread_siblings_list", hm_set_next(&cpus, 0));
    return read_list(path, &siblings) == 0 ? hm_set_count(&siblings) : 0;
}
