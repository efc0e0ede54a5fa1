/* SPDX-License-Identifier: Apache-2.0 */
#include "cores.h"

#include <errno.h>

#define RELEASE_BY_CORE 2311 /* 23.11: since then Slurm may count fewer threads for a core than the machine has */

/* The position, among the machine's CPUs sorted by socket, of the first CPU that Slurm's CPU number stands for. */
static unsigned place_of(unsigned cpu, const struct hm_numbering *numbering, unsigned siblings, bool is_by_core)
{
    return is_by_core ? cpu / numbering->threads * siblings : cpu;
}

static int refuse_numbering(const struct hm_numbering *numbering, unsigned cpus, unsigned siblings,
                            struct hm_error *error)
{
    return hm_fail(
        error, EINVAL,
        "Slurm counts %u cores with ThreadsPerCore=%u on this node, which has %u CPUs, %u to a core: Sockets, "
        "CoresPerSocket and ThreadsPerCore in slurm.conf should be as slurmd -C says",
        numbering->cores, numbering->threads, cpus, siblings);
}

int hm_cores_spread(const struct hm_set *cpus, const struct hm_numbering *numbering, unsigned siblings,
                    const struct hm_topology *topology, struct hm_set *sockets_cpus, struct hm_error *error)
{
    unsigned n = 0, end = 0; /* `end`: the number of CPUs up to and with socket i */
    hm_set_clear(sockets_cpus);
    for (int i = 0; i < topology->n_sockets; i++)
        n += hm_set_count(&topology->socket_cpus[i]);
    bool is_by_core = numbering->release >= RELEASE_BY_CORE && (numbering->cores != n || numbering->threads != 1);
    if (siblings == 0 || numbering->threads == 0 ||
        place_of(numbering->cores * numbering->threads, numbering, siblings, is_by_core) > n)
        return refuse_numbering(numbering, n, siblings, error);
    int cpu = hm_set_next(cpus, 0);
    for (int i = 0; i < topology->n_sockets; i++) {
        end += hm_set_count(&topology->socket_cpus[i]);
        for (; cpu >= 0 && place_of((unsigned)cpu, numbering, siblings, is_by_core) < end;
             cpu = hm_set_next(cpus, (unsigned)cpu + 1))
            hm_set_union(sockets_cpus, &topology->socket_cpus[i]);
    }
    return cpu < 0 ? 0 : refuse_numbering(numbering, n, siblings, error);
}
