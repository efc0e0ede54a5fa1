/* SPDX-License-Identifier: Apache-2.0 */
#include "cpus.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void add_thread(pid_t thread, struct hm_set *cpus)
{
    cpu_set_t its[HM_SET_BITS / CPU_SETSIZE];
    if (sched_getaffinity(thread, sizeof(its), its) != 0)
        return;
    for (unsigned cpu = 0; cpu < HM_SET_BITS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(its), its))
            hm_set_add(cpus, cpu);
}

void hm_cpus_of(pid_t pid, struct hm_set *cpus)
{
    char path[32];
    unsigned n = 0;
    hm_set_clear(cpus);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *list = opendir(path);
    if (!list)
        return;
    for (const struct dirent *entry; n < HM_CPUS_THREADS && (entry = readdir(list));) {
        int thread = atoi(entry->d_name);
        if (thread > 0)
            add_thread((pid_t)thread, cpus);
        n += thread > 0;
    }
    closedir(list);
}
