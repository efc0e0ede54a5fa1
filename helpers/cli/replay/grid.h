/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a replay's picture: a grid of addresses (rows) and phases (columns). Each cell has the accesses to its
 * pages, and how many of the pages the fast tier held. The grid is filled while the replay runs.
 */
#ifndef HM_CLI_REPLAY_GRID_H
#define HM_CLI_REPLAY_GRID_H

#include <jansson.h>

#include "migrator/replay/trace.h"

struct hm_grid;

/*
 * Lays out the rows and columns of a trace, which must outlive the grid. Free the grid with hm_grid_free. NULL: ENOMEM.
 */
struct hm_grid *hm_grid_new(const struct hm_trace *trace);
void hm_grid_free(struct hm_grid *grid);

/* Adds the accesses of a phase. tier[i] is the tier that page i of the trace was in during the phase; 0 is the fastest.
 */
void hm_grid_add_phase(struct hm_grid *grid, size_t phase, const uint8_t *tier);

/* Makes an object, whose keys hybridmem-replay(1) lists. The caller owns it. NULL: no memory. */
json_t *hm_grid_json(const struct hm_grid *grid);

#endif
