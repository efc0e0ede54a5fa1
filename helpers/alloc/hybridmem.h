/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem: memory that knows of a node's two tiers. For C and C++; Fortran has the module in hybridmem.f90.
 * Manual: hybridmem(3).
 */
#ifndef HYBRIDMEM_H
#define HYBRIDMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HM_ALLOC_NODES 128        /* most NUMA nodes that are told apart */
#define HM_ALLOC_REASON 256       /* bytes of a reason with its end */
#define HM_ALLOC_LEAST 131072     /* smaller sizes are left to malloc */
#define HM_ALLOC_MOST_BLOCKS 4096 /* of one allocation */

enum hm_alloc_policy {
    HM_ALLOC_SPILL = 1,     /* fast tier first; by bandwidth where the tiers have channels of their own */
    HM_ALLOC_SPLIT = 2,     /* write isolation: by the hint's use */
    HM_ALLOC_FAST = 3,      /* the fast tier */
    HM_ALLOC_SLOW = 4,      /* the slow tier */
    HM_ALLOC_INTERLEAVE = 5 /* all nodes of both tiers in turn */
};

/* For HM_ALLOC_SPLIT. */
enum hm_alloc_use {
    HM_ALLOC_READ_MOSTLY = 0,    /* slow: the sockets' fsdax files (HYBRIDMEM_FSDAX_DIRS), else the slow nodes */
    HM_ALLOC_WRITE_INTENSIVE = 1 /* the fast tier */
};

/* All zeros, or NULL in its place, is the default. */
struct hm_alloc_hint {
    int32_t use;        /* enum hm_alloc_use */
    int32_t reserved;   /* 0 */
    size_t block_bytes; /* what goes to one node in a row; 0: a 256th of the allocation, at least 2 MiB */
    double fast_share;  /* HM_ALLOC_SPILL: of the blocks, above 0 to 1; 0: by the tiers' bandwidths */
};

/*
 * Memory for `size` bytes at one contiguous range of addresses, zeroed, placed block by block as the policy says,
 * whichever thread touches it first. Where it cannot be placed so it is placed as well as it can be, and
 * hm_alloc_reason says why: it fails only where malloc would (ENOMEM), or for a policy or hint that is none (EINVAL).
 * From 2 MiB on it is aligned to 2 MiB, else to pages; below HM_ALLOC_LEAST as by malloc. Free it by hm_free. Threads
 * may call all functions at any time.
 */
void *hm_alloc(size_t size, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint);

/* Give back what hm_alloc returned; NULL is allowed. */
void hm_free(void *memory);

/* Why this thread's last hm_alloc failed, or placed memory otherwise than the policy says; "" where it did not. Valid
 * until the thread's next call of hm_alloc. */
const char *hm_alloc_reason(void);

struct hm_alloc_node {
    int32_t node; /* NUMA node, -1: fsdax files */
    int32_t reserved;
    uint64_t wanted_bytes;   /* what the policy put there */
    uint64_t resident_bytes; /* what is there now; 0 for fsdax files, whose pages belong to no node of ours */
};

struct hm_alloc_where {
    size_t bytes;          /* as asked for */
    size_t block_bytes;    /* 0: in no blocks, as Linux places it */
    int32_t policy;        /* enum hm_alloc_policy */
    int32_t n_nodes;       /* of `node` */
    uint64_t absent_bytes; /* touched by nobody yet, or swapped out; without fsdax files */
    char reason[HM_ALLOC_REASON];
    struct hm_alloc_node node[HM_ALLOC_NODES + 1];
};

/*
 * Where an allocation is: asks the kernel for each page. `memory` is what hm_alloc returned. Returns 0, or -1: EINVAL
 * where it is none of ours (less than HM_ALLOC_LEAST is malloc's), or move_pages' errno.
 */
int hm_where(const void *memory, struct hm_alloc_where *where);

/* Consecutive blocks for one place. */
struct hm_alloc_run {
    uint64_t offset, bytes;
    int32_t node;   /* NUMA node, -1: in a file */
    int32_t folder; /* of HYBRIDMEM_FSDAX_DIRS, counted from 0; -1: memory */
};

/* What the policy chose for the block at `offset`, with its neighbours for the same place. Returns 0, or -1 (EINVAL:
 * not ours, past its end, or in no blocks). */
int hm_where_run(const void *memory, size_t offset, struct hm_alloc_run *run);

#ifdef __cplusplus
}
#endif

#endif
