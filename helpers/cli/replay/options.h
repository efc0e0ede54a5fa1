/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `hybridmem replay`. */
#ifndef HM_CLI_REPLAY_OPTIONS_H
#define HM_CLI_REPLAY_OPTIONS_H

#include <stdbool.h>

#include "base/words.h"
#include "migrator/replay/replay.h"

enum { HM_REPLAY_FAILED = 1, HM_REPLAY_BAD = HM_WORDS_BAD }; /* exit statuses */

struct hm_replay_words {
    struct hm_replay_options replay;
    const char *path, *plot, *load; /* plot: file of the picture, load: of the tiers under load; NULL: none */
    bool json, has_explain, has_latency, has_two_tiers; /* the latter: --fast or a latency was given */
    struct hm_replay_options tiers;                     /* those of --tier, until all are read */
    uint64_t explain;                                   /* the phase to explain */
};

/*
 * Fills in `options` from the command line and defaults. Returns -1 to go on, or the exit status, after all messages
 * are printed.
 */
int hm_replayoptions_parse(int argc, char **argv, struct hm_replay_words *options);

/* Prints one line on standard error. Returns `status`. */
int hm_replayoptions_fail(int status, const char *text);

#endif
