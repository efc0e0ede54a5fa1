/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the result of `hybridmem replay`, as a table or as JSON. */
#ifndef HM_CLI_REPLAY_PRINT_H
#define HM_CLI_REPLAY_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "explain.h"
#include "grid.h"
#include "migrator/replay/replay.h"

struct hm_replay_report {
    const char *path; /* of the trace, as the user typed it */
    const struct hm_trace *trace;
    const struct hm_replay_options *options;
    struct hm_replay_result result;
    struct hm_score first_touch, static_oracle, phase_oracle;
    struct hm_score least_cost; /* only with tiers that the user has named */
    struct hm_score balanced;   /* only under load */
};

/* Prints the result as a table. */
void hm_replayprint_text(FILE *out, const struct hm_replay_report *report);

/*
 * Makes one object, whose keys hybridmem-replay(1) lists. The caller owns it. NULL: no memory. `explained` and `grid`
 * are NULL if the user does not ask for them.
 */
json_t *hm_replayprint_json(const struct hm_replay_report *report, const struct hm_explained *explained,
                            const struct hm_grid *grid);

#endif
