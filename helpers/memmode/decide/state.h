/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's persistent memory is used for now, and after its next boot, in the terms of hybridmem. The words for
 * it. Pure. */
#ifndef HM_MEMMODE_DECIDE_STATE_H
#define HM_MEMMODE_DECIDE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_MEMMODE_FEATURE "memmode=" /* begins the names of the features in Slurm */
#define HM_MEMMODE_PLACE 96           /* bytes of a text that names a namespace or a region */

enum hm_memmode {
    HM_MEMMODE_NONE,  /* no goal is pending, or there is no persistent memory */
    HM_MEMMODE_FLAT,  /* all is App Direct: DRAM is memory of its own */
    HM_MEMMODE_CACHE, /* all is memory, with the DRAM as its cache (Memory Mode) */
    HM_MEMMODE_MIXED, /* a part of each module is memory behind a cache, the other App Direct */
    HM_MEMMODE_HALF,  /* goals only: the modules have not all got the same one */
    HM_MEMMODES
};

/* How many bytes are used for what. */
struct hm_memmode_resources {
    uint64_t dram_cache;   /* DRAM that is a cache */
    uint64_t memory;       /* of the modules: memory */
    uint64_t app_direct;   /* of the modules */
    uint64_t inaccessible; /* of the modules: used for nothing */
    uint64_t physical;     /* of the modules: all */
};

/* What the modules are told to become at the next boot. */
struct hm_memmode_goal {
    unsigned n_flat, n_cache, n_mixed, n_empty; /* modules by their goal; empty: of no bytes */
};

/* What the platform's firmware allows. */
struct hm_memmode_abilities {
    bool configures;        /* it takes goals from software */
    bool cache, app_direct; /* allows these uses */
};

struct hm_memmode_modules {
    unsigned n;
    char ill[HM_MEMMODE_PLACE]; /* the first module that is not healthy, and its state; "": none */
};

/* The namespaces, as the kernel shows them. */
struct hm_memmode_spaces {
    uint64_t region_bytes;             /* of all regions */
    unsigned n_kept, n_jobs, n_others; /* namespaces: kept by users, of jobs, not hybridmem's */
    /* The first of each kind. `hidden` is a region whose namespaces cannot be seen; "": none. */
    char kept[HM_MEMMODE_PLACE], job[HM_MEMMODE_PLACE], other[HM_MEMMODE_PLACE], hidden[HM_MEMMODE_PLACE];
};

struct hm_memmode_state {
    struct hm_memmode_resources resources;
    struct hm_memmode_goal goal;
    struct hm_memmode_abilities abilities;
    struct hm_memmode_modules modules;
    struct hm_memmode_spaces spaces;
};

/* The word of a mode: "flat", "cache", "mixed"; "none", "incomplete" for the others. */
const char *hm_memmode_word(enum hm_memmode mode);

/* Read a feature that a node can be asked to take: "memmode=flat" or "memmode=cache". Returns 0, or -1 (EINVAL). */
int hm_memmode_parse(const char *feature, enum hm_memmode *mode, struct hm_error *error);

/* The mode that the node is in; HM_MEMMODE_NONE where it has no modules. */
enum hm_memmode hm_memmode_now(const struct hm_memmode_resources *resources);

/* The same, but HM_MEMMODE_NONE also where no capacity is in use: then the node has no mode yet, although it shows its
 * DRAM as a flat one does. */
enum hm_memmode hm_memmode_used(const struct hm_memmode_resources *resources);

/* The mode that the pending goal leads to, for a node with so many modules; HM_MEMMODE_NONE: no goal is pending. */
enum hm_memmode hm_memmode_pending(const struct hm_memmode_goal *goal, unsigned modules);

#endif
