/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `hybridmem replay`: a row for each placement. */
#ifndef HM_CLI_REPLAY_PLACEMENTS_H
#define HM_CLI_REPLAY_PLACEMENTS_H

#include <stdio.h>

#include "print.h"

/* Prints it. `screen` is the width of the terminal, as hm_words_columns tells it. */
void hm_replayplacements_print(FILE *out, const struct hm_replay_report *report, size_t screen);

#endif
