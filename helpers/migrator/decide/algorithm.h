/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the decision code share. An algorithm is a row of functions; its state begins with struct
 * hm_decider.
 */
#ifndef HM_MIGRATOR_DECIDE_ALGORITHM_H
#define HM_MIGRATOR_DECIDE_ALGORITHM_H

#include "decide.h"

/* Is the observation valid: with samples, finite, and of one process? (No source takes 10^15 samples.) */
static inline bool hm_observation_is_valid(const struct hm_observation *seen)
{
    uint64_t last = seen->page + (seen->n_pages > 0 ? seen->n_pages - 1 : 0);
    return seen->reads >= 0 && seen->writes >= 0 && seen->reads + seen->writes > 0 &&
           seen->reads + seen->writes < 1e15F && seen->excess >= 0 && seen->excess < 1e15F && last >= seen->page &&
           HM_PAGE_SPACE(last) == HM_PAGE_SPACE(seen->page);
}

struct hm_algorithm {
    const char *name, *about;
    bool knows_many_tiers; /* false: two */
    /* Makes the state. The options were checked. Returns NULL if there is no memory. */
    struct hm_decider *(*create)(const struct hm_decider_options *options);
    void (*destroy)(struct hm_decider *decider);
    void (*observe)(struct hm_decider *decider, const struct hm_observation *observations, size_t count);
    void (*forget)(struct hm_decider *decider, const struct hm_gone *gone, size_t n);
    void (*end_phase)(struct hm_decider *decider);
    void (*plan)(struct hm_decider *decider, const struct hm_budget *budget);
    double (*belief)(const struct hm_decider *decider); /* NULL: 1 */
};

extern const struct hm_algorithm hm_algorithm_regions, hm_algorithm_bins;

/* As hm_decider_new(), with a row instead of the name in the options. */
struct hm_decider *hm_decider_new_of(const struct hm_algorithm *algorithm, const struct hm_decider_options *options,
                                     struct hm_error *error);

struct hm_decider {
    const struct hm_algorithm *algorithm;
    struct hm_decider_options options;
    struct hm_extent *extent; /* by ascending page, room for options.max_extents */
    size_t n_extents;
    struct hm_move *move; /* room for all moves of a plan */
    size_t n_moves;
    uint64_t dropped;
    size_t bytes;
};

/* Allocates zeroed memory, and adds its size to the decider's bytes. Returns NULL if there is none. */
void *hm_decider_allocate(struct hm_decider *decider, size_t count, size_t size);
/* Sets `order` to the indexes of the extents, by ascending priority. */
void hm_decider_order(struct hm_decider *decider, uint32_t *order);
/* Adds a move of at most `limit` pages of the extent, from a tier to another; none if `limit` is 0. */
void hm_decider_add_move(struct hm_decider *decider, const struct hm_extent *extent, uint64_t limit, unsigned from,
                         unsigned to);

#endif
