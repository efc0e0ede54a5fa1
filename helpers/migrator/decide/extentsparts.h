/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the default algorithm; for extents*.c only. */
#ifndef HM_MIGRATOR_DECIDE_EXTENTPARTS_H
#define HM_MIGRATOR_DECIDE_EXTENTPARTS_H

#include "algorithm.h"
#include "density.h"
#include "trust.h"

struct hm_extents {
    struct hm_decider base;
    struct hm_cells cells;
    struct hm_density density;
    struct hm_trust trust;
    unsigned n_phases;
    double weight;    /* of all phases together: the sum of what each counts by its age */
    double classes;   /* of heat, by factor of two: neighbours in one class are one extent */
    uint64_t reached; /* the end of the last extent, while they are made */
    bool is_full;     /* more extents than room: the classes are too fine */
    uint32_t *order;  /* extents by priority, lowest first */
    uint64_t *amount; /* pages to move, by extent */
};

/* Weighted samples per page and phase that are expected of an extent. */
double hm_extents_heat(const struct hm_extents *extents, const struct hm_extent *extent);
/* The plan function of the algorithm's row. */
void hm_extents_plan(struct hm_decider *decider, const struct hm_budget *budget);

#endif
