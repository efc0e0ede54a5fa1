/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/meminfo.h"
#include "base/size.h"

/* from linux/mempolicy.h */
#define MPOL_DEFAULT 0
#define MPOL_PREFERRED 1
#define MPOL_INTERLEAVE 3
#define MPOL_F_STATIC_NODES (1 << 15)
#define MPOL_F_MEMS_ALLOWED (1 << 2)
#define MPOL_MF_MOVE (1 << 1)

#define LONG_BITS (sizeof(unsigned long) * CHAR_BIT)
#define NODES 1024 /* the kernel's largest MAX_NUMNODES */
#define MASK_LONGS (NODES / LONG_BITS)

void *hm_kernel_map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void *hm_kernel_remap(void *memory, size_t bytes, size_t new_bytes, int flags, void *wanted)
{
    return (void *)syscall(SYS_mremap, memory, bytes, new_bytes, flags, wanted); /* -1 is MAP_FAILED */
}

bool hm_kernel_limits_addresses(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur != RLIM_INFINITY;
}

static int prefer(void *memory, size_t bytes, int node, unsigned long flags)
{
    unsigned long mask[MASK_LONGS] = {0};
    if (node < 0 || node >= NODES) {
        errno = EINVAL;
        return -1;
    }
    mask[(size_t)node / LONG_BITS] = 1UL << (size_t)node % LONG_BITS;
    /* MPOL_F_STATIC_NODES: when the cpuset changes, a slow node must not become a fast one. NODES + 1, as the kernel
     * reads one bit less than it is told. */
    return (int)syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED | MPOL_F_STATIC_NODES, mask, NODES + 1UL, flags);
}

int hm_kernel_prefer(void *memory, size_t bytes, int node)
{
    return prefer(memory, bytes, node, 0);
}

int hm_kernel_move_to(void *memory, size_t bytes, int node)
{
    return prefer(memory, bytes, node, MPOL_MF_MOVE);
}

static int prefer_any(void *memory, size_t bytes, const struct hm_set *nodes, unsigned long flags)
{
    if (hm_set_count(nodes) == 1)
        return prefer(memory, bytes, hm_set_next(nodes, 0), flags);
    return (int)syscall(SYS_mbind, memory, bytes, MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, nodes->word,
                        (unsigned long)HM_SET_BITS, flags);
}

int hm_kernel_prefer_any(void *memory, size_t bytes, const struct hm_set *nodes)
{
    return prefer_any(memory, bytes, nodes, 0);
}

int hm_kernel_move_to_any(void *memory, size_t bytes, const struct hm_set *nodes)
{
    return prefer_any(memory, bytes, nodes, MPOL_MF_MOVE);
}

int hm_kernel_default(void *memory, size_t bytes)
{
    return (int)syscall(SYS_mbind, memory, bytes, MPOL_DEFAULT, NULL, 0UL, 0UL);
}

int hm_kernel_allowed(struct hm_set *nodes)
{
    unsigned long mask[MASK_LONGS] = {0};
    hm_set_clear(nodes);
    if (syscall(SYS_get_mempolicy, NULL, mask, (unsigned long)NODES, NULL, (unsigned long)MPOL_F_MEMS_ALLOWED) < 0)
        return -1;
    for (unsigned node = 0; node < NODES; node++)
        if (mask[node / LONG_BITS] >> node % LONG_BITS & 1)
            hm_set_add(nodes, node);
    return 0;
}

int hm_kernel_where(size_t count, void *const *page, int *node)
{
    return (int)syscall(SYS_move_pages, 0, (unsigned long)count, page, NULL, node, 0);
}

int hm_kernel_free_bytes(int node, uint64_t *bytes)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
    return hm_file_read_start(path, text, sizeof(text)) < 0 ? -1 : hm_meminfo_parse(text, "MemFree", bytes);
}

int hm_kernel_huge_bytes(uint64_t *bytes)
{
    char text[4096];
    return hm_file_read_start("/proc/meminfo", text, sizeof(text)) < 0 ? -1
                                                                       : hm_meminfo_parse(text, "Hugepagesize", bytes);
}

uint64_t hm_kernel_now_ns(void)
{
    return hm_clock_ns(CLOCK_MONOTONIC_COARSE);
}

int hm_kernel_most_mappings(uint64_t *n)
{
    char text[32];
    if (hm_file_read_line("/proc/sys/vm/max_map_count", text, sizeof(text)) < 0)
        return -1;
    return hm_size_parse_number(text, 1, INT_MAX, n, NULL);
}
