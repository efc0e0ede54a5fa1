/* SPDX-License-Identifier: Apache-2.0 */
/* --load of hybridmem replay: reads the file of the tiers under load, and shows what was read. */
#ifndef HM_CLI_REPLAY_LOAD_H
#define HM_CLI_REPLAY_LOAD_H

#include <jansson.h>
#include <stdio.h>

#include "core/load/balance.h"
#include "migrator/replay/replay.h"

/* Reads the file. Returns 0, or -1: errno of open(2) or read(2), EFBIG, EBADMSG, with the path in the text. */
int hm_replayload_read(const char *path, struct hm_load *load, struct hm_error *error);

/* Prints what the figures under load mean. `columns` as in hm_words_put_text. */
void hm_replayload_text(FILE *out, size_t columns, size_t indent, const struct hm_replay_options *options);

/* Makes an object of the load, which the caller owns. NULL: no memory. */
json_t *hm_replayload_json(const struct hm_replay_options *options);

#endif
