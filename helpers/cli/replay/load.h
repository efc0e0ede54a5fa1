/* SPDX-License-Identifier: Apache-2.0 */
/* --load of hybridmem replay: shows the tiers under load that were read. */
#ifndef HM_CLI_REPLAY_LOAD_H
#define HM_CLI_REPLAY_LOAD_H

#include <jansson.h>
#include <stdio.h>

#include "migrator/replay/replay.h"

/* Prints what the figures under load mean. `columns` as in hm_words_put_text. */
void hm_replayload_text(FILE *out, size_t columns, size_t indent, const struct hm_replay_options *options);

/* Makes an object of the load, which the caller owns. NULL: no memory. */
json_t *hm_replayload_json(const struct hm_replay_options *options);

#endif
