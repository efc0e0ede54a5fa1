/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the default algorithm; for extents*.c only. */
#ifndef HM_MIGRATOR_DECIDE_EXTENTSPARTS_H
#define HM_MIGRATOR_DECIDE_EXTENTSPARTS_H

#include "algorithm.h"
#include "density.h"
#include "trust.h"

struct hm_extents {
    struct hm_decider base;
    struct hm_cells cells;
    struct hm_density density;
    struct hm_trust trust;
    unsigned n_phases;
    double weight;    /* sum of the weights of all phases; older phases weigh less */
    double classes;   /* classes of heat for each doubling of it; neighbours in the same class are one extent */
    uint64_t reached; /* end of the last extent so far */
    bool is_full;     /* there were more extents than room: the classes are too fine */
    uint32_t *order;  /* extents by priority, lowest first */
    uint64_t *amount; /* pages to move, by extent */
};

/* The expected weighted samples of an extent, per page and phase. */
double hm_extents_heat(const struct hm_extents *extents, const struct hm_extent *extent);
/* Compares the measured share of the accesses that the fast tier serves with the one that the extents' heat tells. */
void hm_extents_learn_share(const struct hm_extents *extents, struct hm_heat_share *share);
/* How much more heat (priority times pages) the fast tier should have; negative: less; INFINITY: as much as fits. */
double hm_extents_heat_room(const struct hm_extents *extents, const struct hm_heat_share *share);
/* The plan function of the algorithm's row. */
void hm_extents_plan(struct hm_decider *decider, const struct hm_budget *budget);

#endif
