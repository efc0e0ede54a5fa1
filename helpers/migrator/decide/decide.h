/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to move: the decision code, pure. Observations of a phase go in; at its end regions with read and write heat,
 * and a list of moves under a budget, come out. Two drivers use it: the live migrator and the replay of traces. One
 * phase:
 *
 *     hm_decider_observe() ...      what was sampled
 *     hm_decider_end_phase()        heat of regions
 *     hm_decider_regions()          the driver fills in how much of each region is where
 *     hm_decider_plan()             moves: demotions first
 *     (the driver moves what it can)
 *
 * Memory is bounded by `max_regions`, whatever the size of the job. Nothing depends on time, addresses of our own, or
 * anything but the options and the calls: the same calls give the same moves.
 */
#ifndef HM_MIGRATOR_DECIDE_DECIDE_H
#define HM_MIGRATOR_DECIDE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Pages of all processes of a step in one order: the process's index in the upper 18 bits (`space`), the page number
 * (address / 4096) in the lower 46, which is enough for 57-bit addresses. Regions never reach over two spaces.
 */
#define HM_PAGE_BITS 46
#define HM_PAGE(space, number) (((uint64_t)(space) << HM_PAGE_BITS) | (number))
#define HM_PAGE_SPACE(page) ((uint32_t)((page) >> HM_PAGE_BITS))
#define HM_PAGE_NUMBER(page) ((page) & ((UINT64_C(1) << HM_PAGE_BITS) - 1))

/* What one sample, or one region of DAMON's, says. */
struct hm_observation {
    uint64_t page;       /* first */
    uint64_t n_pages;    /* over which the accesses are spread evenly: 1 for a sampled address */
    float reads, writes; /* samples (not accesses) of each kind; fractions where a source knows only sums */
    bool knows_writes;   /* false: the kind is not known, all are in `reads` */
    float excess;        /* variance of reads + writes beyond that of counts, by its mean: 0 for what was counted */
};

struct hm_decider_options {
    const char *algorithm; /* a row of hm_algorithm_at() */
    double period;         /* accesses that one sample stands for */
    double read_gain;      /* what one access to memory costs more in the slow tier, in units of a fast access: */
    double write_gain;     /* latency slow / latency fast - 1 */
    double promote_cost;   /* of one page, in the same unit: 64 lines read slowly and written fast */
    double demote_cost;    /* of one page: 64 lines read fast and written slowly */
    unsigned max_regions;  /* 16 .. 1048576; also the bins of "bins" */
    bool hot_by_writes;    /* only writes count: what is only read is as cold as what nobody uses */
    double error;          /* 0..1: so much of the hotter pages' heat is taken off what an exchange gains ("regions") */
    bool counts_memory;    /* samples are of accesses to memory; false: of loads and stores, which caches may serve */
};

enum hm_verdict {                     /* why a region stays or moves; hm_verdict_text() has the words */
                  HM_VERDICT_NEW,     /* seen for the first time: not enough evidence */
                  HM_VERDICT_PLACED,  /* where it should be */
                  HM_VERDICT_PROMOTE, /* moved up: the gain is larger than the cost with confidence */
                  HM_VERDICT_DEMOTE,  /* moved down: it makes room for a hotter one */
                  HM_VERDICT_CAP,     /* moved down: the fast share is over its cap */
                  HM_VERDICT_DOUBT,   /* hot enough by the mean, but not with confidence */
                  HM_VERDICT_COST,    /* the gain would not pay for the move */
                  HM_VERDICT_ROOM,    /* no colder region gives way */
                  HM_VERDICT_BUDGET,  /* no budget was left in this phase */
                  HM_VERDICTS
};

struct hm_region {
    uint64_t first;       /* page */
    uint64_t n_pages;     /* span, holes included */
    double reads, writes; /* heat: expected samples per phase in the whole region */
    double noise;         /* standard error of reads + writes */
    double priority;      /* by which it is ordered: expected gain per page and phase */
    unsigned phases;      /* for how long it has been known */
    uint64_t fast_pages;  /* present in the fast tier, in other tiers: filled in by the driver */
    uint64_t slow_pages;
    enum hm_verdict verdict; /* of the last plan */
};

struct hm_move {
    uint64_t first, n_pages; /* span: the driver takes the pages in it that are present and not there yet */
    uint64_t limit;          /* at most so many pages are moved, from the first on */
    bool to_fast;
};

struct hm_budget {
    uint64_t capacity_pages; /* of the fast tier for this job: the cap */
    uint64_t used_pages;     /* in the fast tier now, also outside of all regions */
    uint64_t move_pages;     /* most pages to move in this phase; UINT64_MAX: no limit */
    double phases_left;      /* known end of the job, in phases; negative: not known */
};

struct hm_decider;

/* The algorithms, best first: name and one line for a help text. Returns false past the last. */
bool hm_algorithm_at(int n, const char **name, const char **about);

/* Returns a decider (free with hm_decider_free), or NULL with EINVAL (option, value, what would be right) or ENOMEM. */
struct hm_decider *hm_decider_new(const struct hm_decider_options *options, struct hm_error *error);
void hm_decider_free(struct hm_decider *decider);

/* Add what was observed. What finds no room in the decider's bounded memory is counted in hm_decider_dropped(). */
void hm_decider_observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count);
uint64_t hm_decider_dropped(const struct hm_decider *decider);

/* A mapping is gone, or a process: what is known of the pages is forgotten. */
void hm_decider_forget(struct hm_decider *decider, uint64_t first, uint64_t n_pages);

/* End the phase: regions and their heat are brought up to date. */
void hm_decider_end_phase(struct hm_decider *decider);

/* The regions by ascending page, the decider's own until the next call that changes it. The driver fills in fast_pages
 * and slow_pages before hm_decider_plan(). */
struct hm_region *hm_decider_regions(struct hm_decider *decider, size_t *count);

/*
 * The moves of this phase, demotions first; the decider's own until the next call that changes it. Each region's
 * verdict is set. Demotions and promotions together keep used_pages + promoted - demoted within capacity_pages where
 * the regions hold enough to demote.
 */
const struct hm_move *hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count);

/* Bytes that the decider holds: from the start to the end, so that memory is neither short later nor grows. */
size_t hm_decider_bytes(const struct hm_decider *decider);

const char *hm_verdict_text(enum hm_verdict verdict);

#endif
