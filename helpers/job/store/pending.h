/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that could not be appended: one file each in <state_dir>/pending. The file's name holds the key, so that
 * nobody has to parse a record to append it later. Internal to the store (store.h).
 */
#ifndef HM_JOB_STORE_PENDING_H
#define HM_JOB_STORE_PENDING_H

#include "store.h"

/* Keep one line. Returns 0 or -1. */
int hm_pending_keep(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                    struct hm_error *error);

/* Take a file's name apart; `node` (at least 64 bytes) receives the node's name, to which key->node points. Returns 0,
 * or -1. Pure. */
int hm_pending_parse(const char *name, struct hm_store_key *key, char *node, size_t size);

#endif
