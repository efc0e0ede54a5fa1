/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a process's pagemap (present.h). */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "migrator/watch/resident.h"
#include "present.h"

void hm_present_open(struct hm_present *present, pid_t pid, uint64_t mapped)
{
    char path[64];
    double resident = (double)hm_resident_pages(pid); /* slightly too large, as it includes files */
    present->density = resident < (double)mapped ? resident / (double)mapped : 1;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    present->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    present->missing = HM_PRESENT_MISSING;
}

void hm_present_close(struct hm_present *present)
{
    if (present->pagemap >= 0)
        close(present->pagemap);
    present->pagemap = -1;
}
