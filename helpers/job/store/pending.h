/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that could not be appended: each is a file in a folder `pending`. The key is in the file's name, so that the
 * record can be appended later without being parsed; the file's time says which is tried first. Internal to the store
 * (store.h).
 */
#ifndef HM_JOB_STORE_PENDING_H
#define HM_JOB_STORE_PENDING_H

#include "store.h"

#define HM_PENDING_NAME 160 /* bytes of a file's name */

/* Where `pending` is: in state_dir; or in <run_dir>/root/node, which is memory, for what the node's disk does not take.
 */
enum hm_pending_place { HM_PENDING_DISK, HM_PENDING_MEMORY };

/* Puts one line into this pending/. Returns 0 or -1: EXFULL where it is that in memory, and has
 * HM_PENDING_MEMORY_MOST bytes of records. No file system gives this errno: one without room may take the line later.
 */
#define HM_PENDING_ROOM 50                /* 1/50 of the disk's space, and of its files, stays free */
#define HM_PENDING_MEMORY_MOST (64 << 20) /* some ten thousand records: what jobs hardly miss, nor run_dir's others */
int hm_pending_keep(const struct hm_config *config, enum hm_pending_place place, const struct hm_store_key *key,
                    const char *line, struct hm_error *error);

/* Opens this pending/; with `make`, it is made where it is missing. Returns a descriptor, or -1 as hm_folder_open
 * (append.h). */
int hm_pending_open(const struct hm_config *config, enum hm_pending_place place, bool make, struct hm_error *error);

/* Writes the path of this pending/ into `out` (HM_PENDING_PATH bytes), and returns `out`. */
#define HM_PENDING_PATH (HM_CONFIG_PATH_MAX + 64)
char *hm_pending_path(const struct hm_config *config, enum hm_pending_place place, char *out);

/*
 * Parses a file's name. `node` (HM_STORE_NODE bytes) gets the node's name, and key->node points to it. Returns 0, or
 * -1. Pure.
 */
int hm_pending_parse(const char *name, struct hm_store_key *key, char *node, size_t size);

#endif
