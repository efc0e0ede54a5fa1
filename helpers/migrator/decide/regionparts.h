/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the default algorithm; for regions*.c only. */
#ifndef HM_MIGRATOR_DECIDE_REGIONPARTS_H
#define HM_MIGRATOR_DECIDE_REGIONPARTS_H

#include "algorithm.h"
#include "density.h"
#include "trust.h"

struct hm_regions {
    struct hm_decider base;
    struct hm_cells cells;
    struct hm_density density;
    struct hm_trust trust;
    unsigned n_phases;
    double weight;    /* of all phases together: the sum of what each counts by its age */
    double classes;   /* of heat, by factor of two: neighbours in one class are one region */
    uint64_t reached; /* the end of the last region, while they are made */
    bool is_full;     /* more regions than room: the classes are too fine */
    uint32_t *order;  /* regions by priority, lowest first */
    uint64_t *amount; /* pages to move, by region */
};

/* Weighted samples per page and phase that are expected of a region. */
double hm_regions_heat(const struct hm_regions *regions, const struct hm_region *region);
/* The plan function of the algorithm's row. */
void hm_regions_plan(struct hm_decider *decider, const struct hm_budget *budget);

#endif
