/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/pagesize.h"
#include "base/sysfile.h"

/* Reads a figure of the huge pages that have the size of transparent ones; others are not moved (watch/mapsread.c). */
static bool read_figure(const char *folder, const char *name, uint64_t *number)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/hugepages/hugepages-%" PRIu64 "kB/%s", folder,
             hm_huge_pages() * hm_page_size() / 1024, name);
    return hm_sysfile_read_number(AT_FDCWD, path, number) == 0;
}

bool hm_pool_may_take(const char *sysfs, const struct hm_nodes *nodes, unsigned tier)
{
    char folder[256];
    uint64_t reserved, unused;
    snprintf(folder, sizeof(folder), "%s/kernel/mm", sysfs);
    if (!read_figure(folder, "resv_hugepages", &reserved))
        return false;
    for (int i = 0; reserved > 0 && i < nodes->n; i++) {
        if (nodes->node[i].tier != tier)
            continue;
        snprintf(folder, sizeof(folder), "%s/devices/system/node/node%d", sysfs, nodes->node[i].id);
        if (!read_figure(folder, "free_hugepages", &unused) || unused > 0)
            return false;
    }
    return true;
}
