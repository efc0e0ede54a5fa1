/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packers: which sites go to the fast tier, of a given capacity. Three are those of MemBrain (Olson et al., MemBrain:
 * Automated Application Guidance for Hybrid Memory Systems, NAS 2018, section III-A). Pure.
 */
#ifndef HM_SITES_PACK_H
#define HM_SITES_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/plan/model.h"

#define HM_PACK_PARTS 32                 /* equal parts of the program's time */
#define HM_PACK_MOST (UINT64_C(1) << 60) /* bytes */
#define HM_PACK_NAMES 64                 /* bytes of all names, as hm_packer_names writes them */

struct hm_pack_item {
    uint64_t bytes; /* at the site's peak, at most HM_PACK_MOST; an item of no bytes is never taken */
    double value;   /* what it gains there, such as its accesses; 0: nothing, and it is never taken */
};

/* When an item is there, as shares of the program's time; no `to` above `from`: not known. */
struct hm_pack_span {
    double from, to;
};

/* What is packed into. */
struct hm_pack_scene {
    uint64_t capacity; /* bytes, at most HM_PACK_MOST */
    /* The bytes of each item in each part of the time, at most its `bytes`. An item without (NULL), or with none at any
     * time, counts as if it had its `bytes` all of the time. NULL: all do. */
    const uint64_t *const *series;
    /* By item: outside of it, it has nothing. It counts for items with a series only, where it and the series have some
     * time in common. NULL: none is known. */
    const struct hm_pack_span *span;
    /* Where the tiers have channels of their own, the bandwidth of both together is what counts. Values are accesses
     * then. A bandwidth of 0, as that of a scene which says nothing of it: the value counts. */
    double fast_mbs, slow_mbs;
    double accesses;          /* of the whole program, those to no item, too; these are in the slow tier */
    const bool *is_limitable; /* by item: one of these can be limited to some bytes of the tier. NULL: none can */
};

struct hm_pack_result {
    bool *is_fast;        /* by item; the caller's, of as many as there are items */
    size_t limited;       /* of the items taken, one that is to have at most limit_bytes there at any time */
    uint64_t limit_bytes; /* 0: none is limited */
    uint64_t bytes; /* most that the items taken have at one time; above the capacity only where the packer says so */
    double value;   /* of the items taken */
    /*
     * Of this value, what is served by the fast tier also where the items taken do not all fit. Where the bytes of an
     * item in each part of the time are known: who came first has the room, and of what comes in the same part (as
     * parts.h divides them), each item has the same share of its bytes there. Else the worst case: the hottest bytes
     * find no room. Accesses to an item are taken to be spread evenly over its bytes, and over the time that it has
     * them.
     */
    double kept;
    double score;  /* `kept`; or the bandwidth of both tiers, in MB/s, where that counts */
    double bound;  /* no choice keeps more */
    bool is_exact; /* no choice within the capacity is better than this one */
};

struct hm_packer {
    const char *name;
    const char *summary; /* for a user, one line */
    bool may_exceed;     /* of the items taken, some may find room for a part only */
    bool may_divide;     /* items may be parts of sites: it is not one of the paper, whose sites are whole */
    /* Sets result->is_fast, which is false. Returns 0, or -1 (ENOMEM). */
    int (*pack)(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                struct hm_pack_result *result);
};

/* The packers; NULL past the last. */
const struct hm_packer *hm_packer_at(size_t i);
/* By name; NULL with a text that lists the names. */
const struct hm_packer *hm_packer_find(const char *name, struct hm_error *error);
/* Writes "gain, thermos, hotset or knapsack". Returns `out`. */
char *hm_packer_names(char out[HM_PACK_NAMES]);

/* Packs `n` items into a scene, and fills in the result. Returns 0, or -1 (ENOMEM). */
int hm_pack_into(const struct hm_packer *packer, const struct hm_pack_scene *scene, const struct hm_pack_item *item,
                 size_t n, struct hm_pack_result *result);
/* The same, where nothing but the capacity is known. */
int hm_pack(const struct hm_packer *packer, const struct hm_pack_item *item, size_t n, uint64_t capacity,
            struct hm_pack_result *result);
/* Fills in what a choice gives, whose result->is_fast, limited and limit_bytes are set. Returns 0, or -1 (ENOMEM).
 */
int hm_pack_measure(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                    struct hm_pack_result *result);

/* ---------------------------------------------------------- for packers */

/* The numbers of the items with a density, the densest first. The caller frees the list; NULL: no memory, with errno.
 * `n_used` becomes its length. */
size_t *hm_pack_order(const double *density, size_t n, size_t *n_used);
/* The items by their value per byte, the hottest first, without those that are never taken. The caller frees the list;
 * NULL: no memory, with errno. `n_used` becomes its length. */
size_t *hm_pack_sort(const struct hm_pack_item *item, size_t n, size_t *n_used);

/* The value of the hottest `bytes` bytes of the first `n` items of `order` that are in is_fast (NULL: of all). */
double hm_pack_hottest(const struct hm_pack_item *item, const size_t *order, size_t n, const bool *is_fast,
                       uint64_t bytes);

int hm_pack_gain(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                 struct hm_pack_result *result);
int hm_pack_thermos(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                    struct hm_pack_result *result);
int hm_pack_hotset(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                   struct hm_pack_result *result);
int hm_pack_knapsack(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                     struct hm_pack_result *result);

#endif
