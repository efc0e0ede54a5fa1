/* SPDX-License-Identifier: Apache-2.0 */
/* What `hybridmem replay` found, as a table or as JSON. */
#ifndef HM_CLI_REPLAY_PRINT_H
#define HM_CLI_REPLAY_PRINT_H

#include <stdio.h>

#include "explain.h"
#include "migrator/replay/replay.h"

struct hm_replay_report {
    const char *path; /* of the trace, as typed */
    const struct hm_trace *trace;
    const struct hm_replay_options *options;
    struct hm_replay_result result;
    struct hm_score first_touch, static_oracle, phase_oracle;
};

/* The program's name, from the trace's header or else its file name: printable ASCII. Returns `out`. */
char *hm_replayprint_name(const struct hm_replay_report *report, char *out, size_t size);

void hm_replayprint_text(FILE *out, const struct hm_replay_report *report);

/* One object, with the explained regions as an array where `explained` is not NULL. Returns 0, or -1. */
int hm_replayprint_json(FILE *out, const struct hm_replay_report *report, const struct hm_explained *explained);

#endif
