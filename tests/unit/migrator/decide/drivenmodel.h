/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of the decision code over simulated pages. */
#ifndef HM_DRIVENMODEL_H
#define HM_DRIVENMODEL_H

#include "migrator/decide/decide.h"

#define MODEL_SPACES 4
#define MODEL_PAGES 20000 /* in each space */
#define MODEL_BASE UINT64_C(0x10000)

/* Members of struct hm_decider_options: a node with DRAM and memory whose stores cost four times as much. */
#define TWO_TIERS                                                                                                      \
    .n_tiers = 2, .read_gain = {0, 1}, .write_gain = {0, 4}, .page_bytes = 4096, .move_cost[1][0] = 192,               \
    .move_cost[0][1] = 384

struct model {
    struct hm_decider *decider;
    bool is_fast[MODEL_SPACES][MODEL_PAGES];
    unsigned n_spaces;
    uint64_t capacity, used, moved, promoted, demoted; /* in pages; moved, promoted, demoted: in the last phase */
    uint64_t state;                                    /* state of the random numbers */
    struct hm_heat_share *share;                       /* what the budget says of the tiers' load; NULL: nothing */
    bool plans_twice; /* each phase has another plan, for a few moves, before the one that is carried out */
};

/* The chance that a page is accessed (on any scale), and that the access is a store. */
typedef double model_heat(const void *data, unsigned space, uint64_t page, double *store);

/* Begins with all pages in the slow tier. `capacity` is the fast tier's. */
void model_begin(struct model *model, const char *algorithm, unsigned n_spaces, uint64_t capacity);
/* The same with the default algorithm. A sample stands for `period` accesses to memory; `error` is that of struct
 * hm_decider_options, as is has_blocks. */
void model_begin_at(struct model *model, double period, double error, bool has_blocks, unsigned n_spaces,
                    uint64_t capacity);
void model_end(struct model *model);
/* Runs one phase of `samples` samples, and carries out its plan with a budget of `moves` pages. */
void model_phase(struct model *model, unsigned samples, model_heat *heat, const void *data, uint64_t moves);
/* Ends a phase whose observations the caller has passed on, and carries out its plan. */
void model_decide(struct model *model, uint64_t moves);
/* The share of the heat that the fast tier holds. */
double model_share(const struct model *model, model_heat *heat, const void *data);

#endif
