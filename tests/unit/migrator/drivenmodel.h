/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of the decision code over pages that exist only here. */
#ifndef HM_DRIVENMODEL_H
#define HM_DRIVENMODEL_H

#include "migrator/decide/decide.h"

#define MODEL_SPACES 4
#define MODEL_PAGES 20000 /* of each space */
#define MODEL_BASE UINT64_C(0x10000)

struct model {
    struct hm_decider *decider;
    bool is_fast[MODEL_SPACES][MODEL_PAGES];
    unsigned n_spaces;
    uint64_t capacity, used, moved, promoted, demoted; /* pages; the latter three of the last phase */
    uint64_t state;                                    /* of the random numbers */
};

/* Chance of a page to be picked (any scale), and of a pick to be a store. */
typedef double model_heat(const void *data, unsigned space, uint64_t page, double *store);

void model_begin(struct model *model, const char *algorithm, unsigned n_spaces, uint64_t capacity);
/* For the default algorithm, with samples of so many accesses to memory, and this error. */
void model_begin_at(struct model *model, double period, double error, unsigned n_spaces, uint64_t capacity);
void model_end(struct model *model);
/* One phase of `samples` samples, its plan carried out under the budget of `moves` pages. */
void model_phase(struct model *model, unsigned samples, model_heat *heat, const void *data, uint64_t moves);
/* The end of a phase whose observations the caller has handed over. */
void model_decide(struct model *model, uint64_t moves);
/* Share of the heat that the fast tier holds. */
double model_share(const struct model *model, model_heat *heat, const void *data);

#endif
