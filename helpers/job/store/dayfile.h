/* SPDX-License-Identifier: Apache-2.0 */
/* A node's file of a day, which records are appended to. Internal to the store (store.h). */
#ifndef HM_JOB_STORE_DAYFILE_H
#define HM_JOB_STORE_DAYFILE_H

#include "store.h"

/* Append to the node's file and the user's copy, as hm_store_put, without keeping what failed. Returns 0 or -1; text as
 * there. */
int hm_store_append(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                    struct hm_error *error);

/* YYYY-MM-DD in UTC. */
void hm_store_day(int64_t end_ns, char day[11]);

/* The node's name as a safe file name of at most size - 1 bytes. */
void hm_store_node(const char *node, char *out, size_t size);

#endif
