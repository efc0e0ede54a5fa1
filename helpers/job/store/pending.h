/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that could not be appended: each is a file in <state_dir>/pending. The key is in the file's name, so that the
 * record can be appended later without being parsed; the file's time says which is tried first. Internal to the store
 * (store.h).
 */
#ifndef HM_JOB_STORE_PENDING_H
#define HM_JOB_STORE_PENDING_H

#include "store.h"

/* Puts one line into pending/. Returns 0 or -1. */
int hm_pending_keep(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                    struct hm_error *error);

/*
 * Parses a file's name. `node` (HM_STORE_NODE bytes) gets the node's name, and key->node points to it. Returns 0, or
 * -1. Pure.
 */
int hm_pending_parse(const char *name, struct hm_store_key *key, char *node, size_t size);

#endif
