/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision code: decides what to move. Pure. It takes the observations of a phase; at the phase's end it returns
 * extents with their read and write heat, and a list of moves within a budget. Two drivers use it: the live migrator
 * and the replay of traces. One phase:
 *
 *       hm_decider_observe() ...      takes what was sampled
 *       hm_decider_end_phase()        calculates the heat of extents
 *       hm_decider_extents()          the driver fills in how much of each extent is in which tier
 *       hm_decider_plan()             returns moves: demotions first
 *       (the driver moves what it can)
 *
 * Memory is limited by `max_extents`, whatever the size of the job. The result depends only on the options and the
 * calls, not on time or on addresses in this process: the same calls give the same moves.
 */
#ifndef HM_MIGRATOR_DECIDE_DECIDE_H
#define HM_MIGRATOR_DECIDE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/search.h"
#include "core/topology/topology.h"

/*
 * Numbers for the pages of all processes of a step: the process's index (`space`) in the upper 18 bits, the page number
 * (address / size of a page) in the lower 46, enough for 57-bit addresses. An extent never reaches over two spaces.
 */
#define HM_PAGE_BITS 46
#define HM_PAGE(space, number) (((uint64_t)(space) << HM_PAGE_BITS) | (number))
#define HM_PAGE_SPACE(page) ((uint32_t)((page) >> HM_PAGE_BITS))
#define HM_PAGE_NUMBER(page) ((page) & ((UINT64_C(1) << HM_PAGE_BITS) - 1))

/* The first page after a span, without overflow. */
#define HM_PAGE_END(first, n_pages) ((n_pages) > UINT64_MAX - (first) ? UINT64_MAX : (first) + (n_pages))

/* How many phases a placement is expected to last. A move that does not pay off by then is not worth the risk. */
#define HM_PLACEMENT_PHASES 8.0

/* One sample, or one region of DAMON. */
struct hm_observation {
    uint64_t page;       /* the first page */
    uint64_t n_pages;    /* pages over which the accesses are spread evenly; 1 for a sampled address */
    uint32_t offset;     /* of a sampled address in its page, in bytes; decisions are by page, and leave it out */
    float reads, writes; /* samples (not accesses) of each kind; a source that estimates them gives fractions */
    bool knows_writes;   /* false: the kind is not known, and all are in `reads` */
    /* the variance of reads + writes, divided by their mean, less 1; 0 if they were counted, as the variance of a count
     * is its mean */
    float excess;
    /* the pages were used at nearly every look: the samples are the least that there were, nobody knows how many more
     */
    bool is_saturated;
};

struct hm_decider_options {
    const char *algorithm; /* a name from hm_algorithm_at() */
    double period;         /* accesses that one sample stands for */
    unsigned n_tiers;      /* 2 .. HM_MAX_TIERS, fastest first; all algorithms but "regions" know two */
    /* By tier: how much more a read costs there than in the first tier, in reads from the first tier. It is 0 for the
     * first tier, and not less than in the tier before. The same for writes. */
    double read_gain[HM_MAX_TIERS], write_gain[HM_MAX_TIERS];
    uint64_t page_bytes; /* size of a page */
    /* [from][to]: cost to move one page, in the same unit: its lines are read from one tier and written to the other */
    double move_cost[HM_MAX_TIERS][HM_MAX_TIERS];
    unsigned max_extents; /* 16 .. 1048576; for "bins" the number of bins */
    bool hot_by_writes;   /* only writes count: memory that is only read is as cold as unused memory */
    /* 0..1: this share of the hotter pages' heat is subtracted from the gain of an exchange ("regions" only) */
    double error;
    bool counts_memory; /* samples are of accesses to memory; false: of loads and stores, which caches may serve */
    bool has_blocks;    /* observations are of blocks of memory that stay the same, each looked at by itself */
};

/* Why an extent stays or moves; hm_verdict_text() gives the words. */
enum hm_verdict {
    HM_VERDICT_NEW,     /* as HM_VERDICT_PLACED, but after only one phase: not enough evidence ("regions" only) */
    HM_VERDICT_PLACED,  /* where it should be */
    HM_VERDICT_PROMOTE, /* promoted: the gain exceeds the cost with confidence */
    HM_VERDICT_DEMOTE,  /* demoted: makes room for a hotter extent */
    HM_VERDICT_CAP,     /* demoted: the fast tier has more than the cap */
    HM_VERDICT_DOUBT,   /* its planned move was dropped: the gain of all such moves together is next to nothing */
    HM_VERDICT_COST,    /* the gain would not pay for the move */
    HM_VERDICT_ROOM,    /* no colder extent gives way */
    HM_VERDICT_BUDGET,  /* this phase's budget was used up */
    HM_VERDICT_SHED,    /* demoted: the fast tier serves more than its share ("regions" only) */
    HM_VERDICT_SHARE,   /* the fast tier serves its share already ("regions" only) */
    HM_VERDICT_LOST,    /* moves have lost so far: pages only go back ("regions" only) */
    HM_VERDICTS
};

/*
 * A run of pages that stays or moves as one: tiered storage systems call it an extent. Users know it as a "region", as
 * in algorithm=regions; in the code a region is persistent memory (core/topology/regions.h), or DAMON's.
 */
struct hm_extent {
    uint64_t first;       /* first page */
    uint64_t n_pages;     /* pages of the span, holes included */
    double reads, writes; /* heat: expected samples per phase in the whole extent */
    double noise;         /* standard error of reads + writes */
    double priority;      /* order of extents: expected gain per page and phase */
    unsigned phases;      /* number of phases so far: of this extent with "bins", of the decider with "regions" */
    uint64_t tier_pages[HM_MAX_TIERS]; /* pages present in each tier; set by the driver */
    enum hm_verdict verdict;           /* from the last plan; with more than two tiers, of its pages that move last */
};

struct hm_move {
    uint64_t first, n_pages; /* span: the driver moves its pages that are present and in the tier `from` */
    uint64_t limit;          /* most pages to move, from the first on */
    unsigned from, to;       /* tiers */
};

/* Is it a promotion, by one step or more? */
static inline bool hm_move_is_up(const struct hm_move *move)
{
    return move->to < move->from;
}

/*
 * How much of the heat belongs in the fast tier where its bandwidth is used up: more there would make the accesses
 * slower, as each delays the others.
 */
struct hm_heat_share {
    double fast;  /* the fast tier's best share of the accesses, without regard to its capacity; 1: as much as fits */
    double now;   /* its share of them in the phase that ends, as it was measured; negative: not known */
    double gain;  /* what an access gains, on the mean, of those that move to where they belong; it multiplies read_gain
                     and write_gain */
    double price; /* of a move of one page, instead of move_cost */
    /*
     * Both 0.5 before the first phase, then kept from phase to phase: the decision code has here the fast tier's share
     * as it was measured, and as the heat told it, on the mean over the phases, in which the last ones weigh more.
     */
    double served, told;
};

struct hm_budget {
    /* By tier: most pages of this job there (the cap, or less if there is less room), and its pages there now, also
     * outside of all extents. The last tier has no limit. */
    uint64_t capacity_pages[HM_MAX_TIERS], used_pages[HM_MAX_TIERS];
    uint64_t move_pages; /* most pages to move at the end of this phase; UINT64_MAX: no limit */
    double phases_left;  /* phases until the job's known end; negative: not known */
    /*
     * What a read took in this phase, in reads from the idle fast tier. Only algorithms that are there for comparison
     * (migrator/rivals) use it: ours have the gains of the options.
     */
    double fast_latency, slow_latency;
    struct hm_heat_share *share; /* NULL: all heat belongs in the fast tier; for "regions" with two tiers only */
};

struct hm_decider;

/* The algorithms, best first: name, and one line for a help text. Returns false past the last. */
bool hm_algorithm_at(int n, const char **name, const char **about);

/*
 * Sets n_tiers, the gains and the costs of moves. `read` and `write` are the latencies of the tiers, fastest first, in
 * reads from the first tier; `lines` is the number of accesses to read or write a page.
 */
void hm_decider_set_latencies(struct hm_decider_options *options, unsigned n_tiers, const double *read,
                              const double *write, double lines);

/* Returns a decider (free with hm_decider_free), or NULL with EINVAL (option, value, what would be right) or ENOMEM. */
struct hm_decider *hm_decider_new(const struct hm_decider_options *options, struct hm_error *error);
void hm_decider_free(struct hm_decider *decider);

/*
 * Adds observations. hm_decider_dropped() counts those that are not used: with "bins" if there is no room for them or
 * their process has no bin, with "regions" if they are not valid. Two kinds are left out and not counted: with
 * "bins" those that are not valid, and with hot_by_writes those without writes.
 */
void hm_decider_observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count);
uint64_t hm_decider_dropped(const struct hm_decider *decider);

struct hm_gone { /* pages that are gone */
    uint64_t first, n_pages;
};

/* The index of the first of n spans, ascending and apart from each other, that ends after the page. Pure. */
static inline size_t hm_gone_find(const struct hm_gone *gone, size_t n, uint64_t page)
{
    size_t i = HM_SEARCH_UPTO(gone, n, first, page);
    return i > 0 && HM_PAGE_END(gone[i - 1].first, gone[i - 1].n_pages) > page ? i - 1 : i;
}
/*
 * Forgets what is known of the pages of n spans, ascending and apart from each other: their mapping or process is gone.
 * All that is known is passed once, however many spans there are. "bins", once it has cut its bins, forgets only those
 * that lie within one span.
 */
void hm_decider_forget(struct hm_decider *decider, const struct hm_gone *gone, size_t n);

/* Ends the phase: updates the extents and their heat. */
void hm_decider_end_phase(struct hm_decider *decider);

/*
 * The extents by ascending page. They belong to the decider, and are valid until the next call that changes it. The
 * driver must set tier_pages before hm_decider_plan().
 */
struct hm_extent *hm_decider_extents(struct hm_decider *decider, size_t *count);

/*
 * Plans the moves of this phase, demotions first. Other plans of the same phase may follow: their budget may differ in
 * move_pages only, and tier_pages stay as they are. They belong to the decider, and are valid until the next call that
 * changes it. Sets the verdict of each extent. What a tier has after the moves stays within capacity_pages, if the
 * extents have enough pages to demote and move_pages allows that many moves. For the cap, "bins" demotes more than
 * move_pages if it has to.
 */
const struct hm_move *hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count);

/* The share of a plan's gain that is believed, 0..1: the one that came true of earlier gains. 1 where the algorithm
 * does not compare them. */
double hm_decider_belief(const struct hm_decider *decider);

/* Bytes that the decider uses. They do not change during its life (but for those of migrator/rivals). */
size_t hm_decider_bytes(const struct hm_decider *decider);

const char *hm_verdict_text(enum hm_verdict verdict);

#endif
