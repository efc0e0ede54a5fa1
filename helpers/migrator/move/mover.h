/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out moves. Of each span it takes the pages that are present, may be moved, and are in the tier that they are
 * to leave, and moves them to the node of the wanted tier with room that is nearest to where the process may run. If
 * that has none, pages that go down go to the next slower tier: others count on the room that they leave. Batches are
 * short, and `stop` is asked every few of them.
 *
 * The mappings may have changed since they were read. Right before a batch of a file, or of shared memory that is the
 * user's, it is checked whether the same mapping is there and still the user's; else the batch is dropped. Pages of
 * files, by the page map, where private memory was are not moved either. Not checked is what has come in place of
 * shared memory that is not the user's, or of huge pages of hugetlbfs: there a batch moves only pages that this process
 * alone maps (MPOL_MF_MOVE).
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

struct hm_moved {                    /* in pages */
    uint64_t promoted, demoted;      /* to a faster tier, to a slower one */
    uint64_t into_fast, out_of_fast; /* those of them that have come to the fast tier, or have left it */
    bool has_apart;                  /* files or huge pages of hugetlbfs among them */
    bool is_stale;                   /* a batch was dropped, as its mapping has changed since it was read */
    /* counted when the kernel refuses a page, not when the page is skipped later */
    uint64_t unmoved[HM_UNMOVED_REASONS];
};

struct hm_mover {
    struct hm_nodes *nodes;
    const struct hm_ranks *ranks;
    const struct hm_maps *maps; /* indexed by space, a process's number (ranks.h) */
    bool (*stop)(void *data);   /* returns true when the mover is to end */
    void *data;
    bool has_huge;         /* transparent huge pages are enabled */
    uint64_t room_pages;   /* pages that may still be added to the fast tier; those that leave it make it grow */
    uint64_t budget_pages; /* pages that may still be moved */
    struct hm_moved moved; /* counted since hm_mover_begin() */
    double busy_s;         /* time spent in moving since hm_mover_begin() */
    int refused;           /* the last node that the kernel refused; -1: none */
    bool lacks_files;      /* a batch was dropped, as no more files can be opened to check whose its process is */
    size_t batch_pages;    /* length of a batch, so that it takes some 30 ms */
    struct hm_unmovable unmovable;
    uint64_t looked_again; /* the block of `unmovable` that was looked at again last in this phase */
    struct hm_batch *batch;
    struct hm_present present;
    uint64_t page[HM_BATCH_PAGES]; /* present pages that are looked up together, and what is known of them */
    int status[HM_BATCH_PAGES];
    bool may_be_huge[HM_BATCH_PAGES], is_file[HM_BATCH_PAGES];
    uint64_t turn; /* number of the phase */
    /* page (decide/decide.h) where the present move has stopped, and the last demotion that did not come to its end */
    uint64_t stopped_at, next_down;
    uint32_t space;  /* the process of the batch */
    uint32_t opened; /* that of `present`, where it is open */
    uint32_t bound;  /* that whose CPUs were asked for last, and in which phase */
    uint64_t bound_turn;
    const struct hm_mapped *part; /* what the batch's pages are in, if whose it is has to be checked before the move */
    unsigned from, to;            /* its tiers */
};

/* Returns 0, or -1 (ENOMEM). The caller keeps what it passes in. */
int hm_mover_init(struct hm_mover *mover, struct hm_nodes *nodes, const struct hm_ranks *ranks,
                  const struct hm_maps *maps, bool (*stop)(void *data), void *data, struct hm_error *error);
void hm_mover_free(struct hm_mover *mover);

/* Begins a new phase. What is free on the nodes was read a moment ago (hm_nodes_refresh). The limits are in pages;
 * UINT64_MAX: no limit. */
void hm_mover_begin(struct hm_mover *mover, uint64_t room_pages, uint64_t budget_pages);
/*
 * Carries the moves out. Earlier moves get room first, with one exception: each group of up to some thousand moves is
 * sorted by page, so that moves in one process share a call. This changes the order in `moves`. A demotion of a part of
 * a span begins where the last one of that span stopped.
 */
void hm_mover_run(struct hm_mover *mover, struct hm_move *moves, size_t count);
/* Forgets which pages of these spans could not be moved (as hm_decider_forget). */
void hm_mover_forget(struct hm_mover *mover, const struct hm_gone *gone, size_t n);

#endif
