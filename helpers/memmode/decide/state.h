/* SPDX-License-Identifier: Apache-2.0 */
/* Which mode a node's memory is in now, and after its next boot, in the terms of hybridmem. The words for it. Pure. */
#ifndef HM_MEMMODE_DECIDE_STATE_H
#define HM_MEMMODE_DECIDE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_MEMMODE_FEATURE "memmode=" /* begins the names of the features in Slurm */
#define HM_MEMMODE_PLACE 96           /* bytes of a text that names a namespace or a region */
#define HM_MEMMODE_VALUE 64           /* bytes of the name or a value of an attribute of the BIOS */

/* What switches the mode. */
enum hm_memmode_by {
    HM_MEMMODE_BY_GOALS, /* the goals of PMem modules */
    HM_MEMMODE_BY_BIOS   /* an attribute of the BIOS */
};

enum hm_memmode {
    HM_MEMMODE_NONE,  /* no goal is pending, or there is no persistent memory */
    HM_MEMMODE_FLAT,  /* the fast memory is memory of its own; PMem: all is App Direct */
    HM_MEMMODE_CACHE, /* the fast memory is a cache of the slow one; PMem: all is memory (Memory Mode) */
    HM_MEMMODE_MIXED, /* a part of the slow memory is behind a cache; PMem: the other part of each module is App Direct;
                         HBM: a part of it is a cache, the other memory of its own */
    HM_MEMMODE_OTHER, /* BIOS, only pending: a value for none of these modes */
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
    unsigned mixed_percent; /* of the modules is memory where the node is asked for mixed, the site says; 0: it is not
                               asked for that */
};

/* The attribute of the BIOS, by which the whole node is in one mode. */
struct hm_memmode_bios {
    char attribute[HM_MEMMODE_VALUE];
    char value[HM_MEMMODE_VALUE], next[HM_MEMMODE_VALUE]; /* now, and from the next boot on */
    enum hm_memmode now, pending;
    bool has_mixed; /* the configuration has a value for mixed */
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
    enum hm_memmode_by by;
    struct hm_memmode_bios bios; /* by the BIOS */
    /* by goals */
    struct hm_memmode_resources resources;
    struct hm_memmode_goal goal;
    struct hm_memmode_abilities abilities;
    struct hm_memmode_modules modules;
    /* always */
    uint64_t up_s;    /* seconds since the boot */
    uint64_t least_s; /* for so long after it the site wants the node to keep its mode */
    struct hm_memmode_spaces spaces;
    bool is_busy; /* somebody makes or wipes namespaces, so that nothing can be changed now */
};

/* The word of a mode: "flat", "cache", "mixed"; "none", "other", "incomplete". */
const char *hm_memmode_word(enum hm_memmode mode);

/* The mode of such a word that a node can be asked to take: flat, cache or mixed. HM_MEMMODE_NONE: it is none. */
enum hm_memmode hm_memmode_find(const char *word);

/* Read a feature that a node can be asked to take: "memmode=flat", and so on. Returns 0, or -1 (EINVAL). */
int hm_memmode_parse(const char *feature, enum hm_memmode *mode, struct hm_error *error);

/* The mode that the node is in; HM_MEMMODE_NONE where it has no modules. */
enum hm_memmode hm_memmode_now(const struct hm_memmode_state *state);

/* The same, but HM_MEMMODE_NONE also where no capacity is in use: then the node has no mode yet, although it shows its
 * DRAM as a flat one does. */
enum hm_memmode hm_memmode_used(const struct hm_memmode_state *state);

/* The mode that what is pending leads to; HM_MEMMODE_NONE: nothing is pending. */
enum hm_memmode hm_memmode_pending(const struct hm_memmode_state *state);

/* What people can do to take back what is pending: "delete the goal with ...". */
const char *hm_memmode_way_back(enum hm_memmode_by by);

/* Is `wanted` pending; HM_MEMMODE_NONE: is nothing? Returns 0, or -1 (EIO) with a text that says what is. */
int hm_memmode_check_pending(const struct hm_memmode_state *state, enum hm_memmode wanted, struct hm_error *error);

#endif
