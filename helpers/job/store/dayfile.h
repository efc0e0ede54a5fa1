/* SPDX-License-Identifier: Apache-2.0 */
/* Appends records to a node's file of the day. Internal to the store (store.h). */
#ifndef HM_JOB_STORE_DAYFILE_H
#define HM_JOB_STORE_DAYFILE_H

#include "store.h"

#define HM_STORE_NODE 64 /* bytes for a node's name in the names of files, with the end mark */

/*
 * Appends to the node's file and to the user's copy. It works as hm_store_put, but a record that fails is not put into
 * pending/. Returns 0 or -1; error->text is as for hm_store_put.
 */
int hm_store_append(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                    struct hm_error *error);

/* The day of `end_ns` as YYYY-MM-DD in UTC. */
void hm_store_day(int64_t end_ns, char day[11]);

/* Makes a safe file name of the node's name: at most size - 1 bytes, without the characters that store.h excludes. */
void hm_store_node(const char *node, char *out, size_t size);

#endif
