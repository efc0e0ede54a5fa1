/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of pages that the rivals share: each page that was ever sampled, with the samples of this phase and the
 * counters that the policy keeps. The extents are these pages one by one, and the holes between them, whose pages were
 * never sampled. Unlike those of our algorithms the table grows with the number of pages, as it does in these systems.
 */
#ifndef HM_MIGRATOR_RIVALS_PAGES_H
#define HM_MIGRATOR_RIVALS_PAGES_H

#include "rivals.h"

/* Counts that are halved at times ("cooling"); a fraction is lost then, as their systems count in whole numbers. */
struct hm_rival_counts {
    uint64_t reads, writes;
    unsigned changed; /* phase in which the page became hot or cold; 0: cold from the start */
    bool is_hot;
};

struct hm_rival_means {
    double recent, lasting; /* moving averages of weighted samples per phase: the short one and the long one */
    double score;
    unsigned hot_age; /* for how many phases on end it has been among the hottest */
    bool may_move;
};

struct hm_rival_page {
    uint64_t page;
    double new_reads, new_writes; /* samples of this phase */
    double rank;                  /* pages of higher rank are promoted first, and demoted last; 0 in a hole */
    union {
        struct hm_rival_counts counts; /* hemem, colloid */
        struct hm_rival_means means;   /* arms */
        uint64_t count;                /* memtis */
    };
};

/* An index in page_of: the extent is a hole. */
#define HM_RIVAL_HOLE UINT32_MAX

/* The state of a rival begins with this. */
struct hm_rival {
    struct hm_decider base;
    struct hm_rival_page *page; /* by ascending page, but for those that are new in this phase: they come last */
    size_t n_pages, n_sorted, page_room;
    unsigned n_phases;
    size_t extent_room;
    uint32_t *page_of; /* by extent: index of its page, or HM_RIVAL_HOLE */
    uint32_t *order;   /* indexes of the extents, by ascending rank */
    uint64_t *amount;  /* by extent: how many of its pages move */
};

/* Makes the state, of `size` bytes. Returns NULL if there is no memory. */
struct hm_decider *hm_rival_new(const struct hm_algorithm *algorithm, const struct hm_decider_options *options,
                                size_t size);

/* These are functions of struct hm_algorithm. A range of pages counts at its first page. */
void hm_rival_destroy(struct hm_decider *decider);
void hm_rival_observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count);
void hm_rival_forget(struct hm_decider *decider, const struct hm_gone *gone, size_t n);

/* Sorts in the pages that are new. Afterwards the policy takes the samples into its counters. */
void hm_rival_begin_end(struct hm_rival *rival);
/*
 * Makes the extents of the pages, and drops the samples of the phase. The heat of an extent is what this phase's
 * samples say. Without memory for them there are none, and nothing moves.
 */
void hm_rival_make_extents(struct hm_rival *rival);

#endif
