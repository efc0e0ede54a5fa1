/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carrying out moves: of each span, the pages that are present, may be moved, and are not in the wanted tier yet, go to
 * the nearest node of that tier with room. Batches of the kernel's calls are short: after each one `stop` is asked.
 */
#ifndef HM_MIGRATOR_MOVE_MOVER_H
#define HM_MIGRATOR_MOVE_MOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch.h"
#include "migrator/decide/decide.h"
#include "migrator/figures/progress.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"
#include "nodes.h"
#include "present.h"
#include "unmovable.h"

struct hm_moved { /* pages */
    uint64_t promoted, demoted;
    uint64_t unmoved[HM_UNMOVED_REASONS]; /* each page when the kernel refuses it, not when it is left alone later */
};

struct hm_mover {
    struct hm_nodes *nodes;
    const struct hm_ranks *ranks;
    const struct hm_maps *maps; /* by space */
    bool (*stop)(void *data);   /* true: make an end */
    void *data;
    bool has_huge;         /* transparent huge pages are on */
    uint64_t room_pages;   /* that may still be added to the fast tier: demoting gives, promoting takes */
    uint64_t budget_pages; /* that may still be moved */
    struct hm_moved moved; /* since hm_mover_begin() */
    double busy_s;         /* time spent in moving, since then */
    int refused;           /* the last node that the kernel refused, -1: none */
    size_t batch_pages;    /* as many as take some 30 ms */
    struct hm_unmovable unmovable;
    struct hm_batch *batch;
    struct hm_present present;
    uint64_t turn;  /* phases */
    uint32_t space; /* of the batch */
    bool to_fast;
};

/* Returns 0, or -1 (ENOMEM). Nothing that is handed over is owned. */
int hm_mover_init(struct hm_mover *mover, struct hm_nodes *nodes, const struct hm_ranks *ranks,
                  const struct hm_maps *maps, bool (*stop)(void *data), void *data, struct hm_error *error);
void hm_mover_free(struct hm_mover *mover);

/* A new phase: what is free on the nodes is read again. */
void hm_mover_begin(struct hm_mover *mover, uint64_t room_pages, uint64_t budget_pages);
/* Carry the moves out, in their order as far as that decides who gets room; `moves` is sorted within windows. */
void hm_mover_run(struct hm_mover *mover, struct hm_move *moves, size_t count);
/* What is remembered of these pages (decide/decide.h) is forgotten. */
void hm_mover_forget(struct hm_mover *mover, uint64_t first, uint64_t n_pages);

#endif
