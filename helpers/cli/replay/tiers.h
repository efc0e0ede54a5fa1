/* SPDX-License-Identifier: Apache-2.0 */
/* What `hybridmem replay` shows of tiers that the user has named. */
#ifndef HM_CLI_REPLAY_TIERS_H
#define HM_CLI_REPLAY_TIERS_H

#include <jansson.h>
#include <stdio.h>

#include "print.h"

/* Writes the name as the title of a column. Returns `title`. */
const char *hm_replaytiers_title(const struct hm_replay_tier *tier, char title[HM_NAME]);

/* Prints the tiers, one a line. `columns` as in hm_words_put_text. */
void hm_replaytiers_list(FILE *out, size_t columns, const struct hm_replay_report *report);
/* Prints what the figures mean, and how many pages moved from tier to tier. */
void hm_replaytiers_text(FILE *out, size_t columns, size_t indent, const struct hm_replay_report *report);

/* Makes an array of the tiers, which the caller owns. NULL: no memory. */
json_t *hm_replaytiers_json(const struct hm_replay_report *report);
/* Adds a placement's figures of each tier, and its moves, to an object. Returns 0, or -1 (no memory). */
int hm_replaytiers_add(json_t *object, const struct hm_replay_report *report, const struct hm_score *score);

#endif
