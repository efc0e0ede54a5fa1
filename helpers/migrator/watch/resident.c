/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/process.h"

uint64_t hm_resident_pages(pid_t pid)
{
    char text[128];
    uint64_t pages = 0;
    bool is_read = hm_process_read(pid, "statm", text, sizeof(text)) == 0;
    return is_read && sscanf(text, "%*u %" SCNu64, &pages) == 1 ? pages : 0;
}

struct hm_mapped_size hm_mapped_size(pid_t pid)
{
    char text[128];
    struct hm_mapped_size size = {0};
    if (hm_process_read(pid, "statm", text, sizeof(text)) != 0 ||
        sscanf(text, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, &size.all, &size.data) != 2)
        return (struct hm_mapped_size){0};
    return size;
}
