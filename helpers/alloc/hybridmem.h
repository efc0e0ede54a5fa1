/* SPDX-License-Identifier: Apache-2.0 */
/* libhybridmem: allocates memory on the fast and the slow tier of a node. For C and C++; Fortran has the module in
 * hybridmem.f90. Manual: hybridmem(3). */
#ifndef HYBRIDMEM_H
#define HYBRIDMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HM_ALLOC_NODES 128        /* most NUMA nodes that hm_where can report */
#define HM_ALLOC_REASON 256       /* longest reason, in bytes with the end mark */
#define HM_ALLOC_LEAST 131072     /* smaller sizes are left to malloc */
#define HM_ALLOC_MOST_BLOCKS 4096 /* most blocks of one allocation */

enum hm_alloc_policy {
    HM_ALLOC_SPILL = 1,     /* the fast tier first; by bandwidth where each tier has its own memory channels */
    HM_ALLOC_SPLIT = 2,     /* write isolation: the hint's `use` decides */
    HM_ALLOC_FAST = 3,      /* the fast tier */
    HM_ALLOC_SLOW = 4,      /* the slow tier */
    HM_ALLOC_INTERLEAVE = 5 /* all nodes of both tiers in turn */
};

/* For HM_ALLOC_SPLIT. */
enum hm_alloc_use {
    HM_ALLOC_READ_MOSTLY = 0,    /* slow: the sockets' fsdax files (HYBRIDMEM_FSDAX_DIRS), else the slow nodes */
    HM_ALLOC_WRITE_INTENSIVE = 1 /* the fast tier */
};

/* What the caller knows about the use of the memory. A hint of zeros, or NULL instead of a hint, gives the defaults. */
struct hm_alloc_hint {
    int32_t use;        /* enum hm_alloc_use */
    int32_t reserved;   /* 0 */
    size_t block_bytes; /* bytes of a block, which is on one node; 0: a 256th of the allocation, at least 2 MiB */
    double fast_share;  /* HM_ALLOC_SPILL: the fast tier's share of blocks, above 0 to 1; 0: as the policy says */
};

/*
 * Allocate `size` bytes of zeroed memory in one contiguous range of addresses. The policy decides where each block is
 * placed, whichever thread touches it first. Where the policy cannot be met, memory is placed as well as possible, and
 * hm_alloc_reason says why. So the call fails only where malloc would (ENOMEM), or for a wrong policy or hint (EINVAL).
 * Memory of 2 MiB or more is aligned to 2 MiB, less to pages. But memory below HM_ALLOC_LEAST, or for which no mapping
 * can be made, comes from malloc, and is aligned as malloc aligns it. Free all memory with hm_free. All functions are
 * safe to call from several threads.
 */
void *hm_alloc(size_t size, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint);

/* Free what hm_alloc returned; NULL is allowed. */
void hm_free(void *memory);

/* Why this thread's last hm_alloc failed, or placed memory otherwise than the policy says; "" where it did neither.
 * Valid until the thread calls hm_alloc again. */
const char *hm_alloc_reason(void);

struct hm_alloc_node {
    int32_t node; /* NUMA node, -1: fsdax files */
    int32_t reserved;
    uint64_t wanted_bytes;   /* bytes that the policy placed there */
    uint64_t resident_bytes; /* bytes that are there now; 0 for fsdax files, as their pages belong to no NUMA node */
};

struct hm_alloc_where {
    size_t bytes;          /* the size that hm_alloc was called with */
    size_t block_bytes;    /* 0: not in blocks; Linux places the memory */
    int32_t policy;        /* enum hm_alloc_policy */
    int32_t n_nodes;       /* used entries of `node` */
    uint64_t absent_bytes; /* bytes that were never written, or are swapped out; without fsdax files */
    char reason[HM_ALLOC_REASON];
    struct hm_alloc_node node[HM_ALLOC_NODES + 1];
};

/*
 * Find out where an allocation is, by asking the kernel for each page. `memory` is what hm_alloc returned. Returns 0,
 * or -1: EINVAL where the memory is not from hm_alloc, or hm_alloc took it from malloc; or the errno of move_pages.
 */
int hm_where(const void *memory, struct hm_alloc_where *where);

/* Consecutive blocks that are in the same place. */
struct hm_alloc_run {
    uint64_t offset, bytes;
    int32_t node;   /* NUMA node, -1: in a file */
    int32_t folder; /* index of the folder in HYBRIDMEM_FSDAX_DIRS, from 0; -1: in memory */
};

/* Find the run with the block at `offset`: where the policy placed it, with its neighbours in the same place. Returns
 * 0, or -1 (EINVAL: the memory is not from hm_alloc, the offset is past its end, or the memory is not in blocks). */
int hm_where_run(const void *memory, size_t offset, struct hm_alloc_run *run);

#ifdef __cplusplus
}
#endif

#endif
