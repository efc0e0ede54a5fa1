/* SPDX-License-Identifier: Apache-2.0 */
/* --explain of hybridmem replay: the extents (ranges of pages) of one phase, and why each moved or stayed. */
#ifndef HM_CLI_REPLAY_EXPLAIN_H
#define HM_CLI_REPLAY_EXPLAIN_H

#include <jansson.h>
#include <stdio.h>

#include "migrator/replay/replay.h"

struct hm_explained {
    size_t phase;
    const struct hm_replay_options *options;
    const char *unit;         /* name of what was sampled: "raw accesses" */
    struct hm_extent *extent; /* sorted by address */
    size_t n_extents;
};

/* Keeps a copy of the extents; the caller frees explained->extent. Returns 0, or -1 (ENOMEM). */
int hm_replayexplain_keep(struct hm_explained *explained, const struct hm_extent *extents, size_t count);

/* Prints the extents as a table, and sums of them by verdict. */
void hm_replayexplain_text(FILE *out, const struct hm_explained *explained);

/* Makes an array, which the caller owns. NULL: no memory. */
json_t *hm_replayexplain_json(const struct hm_explained *explained);

#endif
