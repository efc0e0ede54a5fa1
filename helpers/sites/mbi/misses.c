/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that was not where it was wanted, by the kernel's counts of each node. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "counters.h"

/* Adds the number after `name` in a file of lines "NAME NUMBER". Returns 0, or -1: there is none. */
static int add(const char *text, const char *name, uint64_t *sum)
{
    uint64_t number;
    const char *at = strstr(text, name);
    if (!at || sscanf(at + strlen(name), " %" SCNu64, &number) != 1)
        return -1;
    *sum += number;
    return 0;
}

int hm_mbi_misses(const struct hm_layout *layout, uint64_t *misses, struct hm_error *error)
{
    char path[80], text[1024];
    *misses = 0;
    for (int i = 0; i < layout->n_nodes; i++) {
        if (layout->node[i].is_fast)
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", layout->node[i].id);
        if (hm_file_read_start(path, text, sizeof(text)) < 0)
            return hm_fail_errno(error, "%s", path);
        if (add(text, "numa_miss", misses) < 0 || add(text, "numa_foreign", misses) < 0)
            return hm_fail(error, EBADMSG, "%s has no numa_miss, or no numa_foreign", path);
    }
    return 0;
}
