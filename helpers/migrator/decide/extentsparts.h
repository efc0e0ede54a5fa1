/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the default algorithm; for extents*.c only. */
#ifndef HM_MIGRATOR_DECIDE_EXTENTSPARTS_H
#define HM_MIGRATOR_DECIDE_EXTENTSPARTS_H

#include "account.h"
#include "algorithm.h"
#include "density.h"
#include "trust.h"

#define HM_EXTENTS_PAIRS (HM_MAX_TIERS * (HM_MAX_TIERS - 1) / 2)

/* Two tiers, and what each extent gains in the faster one. */
struct hm_extents_pair {
    unsigned up, down; /* the faster tier, and the slower one */
    double *gain;      /* expected gain per page and phase, by extent */
    uint32_t *order;   /* extents by gain, lowest first */
};

struct hm_extents {
    struct hm_decider base;
    struct hm_cells cells;
    struct hm_density density;
    struct hm_trust trust;
    struct hm_account account;
    unsigned n_phases;
    double weight;    /* sum of the weights of all phases; older phases weigh less */
    double classes;   /* classes of heat for each doubling of it; neighbours in the same class are one extent */
    uint64_t reached; /* end of the last extent so far */
    bool is_tried;    /* the pairs' order and the trial of this phase are made */
    bool is_full;     /* there were more extents than room: the estimate is too fine */
    bool skips_holes; /* holes are no extents, as there are too many: their memory is in none */
    unsigned pause;   /* phases without a refinement after one that was too fine */
    unsigned pauses;  /* phases that are left of them */
    unsigned n_pairs;
    struct hm_extents_pair pair[HM_EXTENTS_PAIRS]; /* by the faster tier, then the slower one */
    /* Pages to move by extent, from each tier to each; and those of them that keep a tier to its cap. */
    uint64_t *flow, *kept;
    /* By extent, where pages may only go back: those that earlier moves have lifted, less those that a plan has put
     * back; negative: lowered. */
    double *lifted;
};

/* How many numbers `flow` and `kept` have for each extent. */
static inline size_t hm_extents_flows(const struct hm_extents *extents)
{
    return (size_t)extents->base.options.n_tiers * (extents->base.options.n_tiers - 1);
}

/* The pages of extent `i` that move from one tier to another one, in `flow` or `kept`. */
static inline uint64_t *hm_extents_flow(const struct hm_extents *extents, uint64_t *flow, size_t i, unsigned from,
                                        unsigned to)
{
    size_t others = extents->base.options.n_tiers - 1;
    return &flow[i * hm_extents_flows(extents) + from * others + (to > from ? to - 1 : to)];
}

/* Sets how finely the estimate tells heat apart, to begin with. */
void hm_extents_begin_fine(struct hm_extents *extents);
/* How finely the estimate tells heat apart. */
struct hm_fineness {
    double classes, least;
    uint64_t hole;
    bool skips_holes;
};

/* Before an estimate: where the last phase had few extents, this one may have more. Returns whether it may; `before` is
 * how fine it was. */
bool hm_extents_refine(struct hm_extents *extents, struct hm_fineness *before);
/* After an estimate that was refined: where it had to be as coarse again as `before`, the next ones are not refined for
 * some phases, as each that is too fine is made again. */
void hm_extents_learn_fine(struct hm_extents *extents, const struct hm_fineness *before);
/* There were too many extents: the next estimate has fewer. Returns false if it cannot be coarser. */
bool hm_extents_coarsen(struct hm_extents *extents);
/* The expected weighted samples of an extent, per page and phase. */
double hm_extents_heat(const struct hm_extents *extents, const struct hm_extent *extent);
/*
 * The part of the heat that a tier of the pair has over the other: what is gained between them, divided by what is
 * gained between the last tier and the first. Reads and writes of the extent count as they cost in the pair's tiers.
 */
double hm_extents_step(const struct hm_extents *extents, const struct hm_extent *extent, unsigned up, unsigned down);
/* Sets the gains and the order of all pairs. */
void hm_extents_order(struct hm_extents *extents);
/* Compares the measured share of the accesses that the fast tier serves with the one that the extents' heat tells. */
void hm_extents_learn_share(const struct hm_extents *extents, struct hm_heat_share *share);
/* Which share of the heat the fast tier should have, so that it serves its share of the accesses; 1: as much as fits.
 */
double hm_extents_heat_share(const struct hm_heat_share *share);
/* How much more heat (priority times pages) the fast tier should have; negative: less; INFINITY: as much as fits. */
double hm_extents_heat_room(const struct hm_extents *extents, const struct hm_heat_share *share);
/* The plan function of the algorithm's row. */
void hm_extents_plan(struct hm_decider *decider, const struct hm_budget *budget);

#endif
