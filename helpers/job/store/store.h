/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where records are kept. All folders and files are made with the modes below, whatever the umask:
 *
 *   <record_dir>                              root:record_group 0751  others may pass to by-user/, not list
 *   <record_dir>/YYYY-MM-DD/<node>.jsonl      root:record_group 0750, file 0640
 *   <record_dir>/by-user/                     root:root         0711
 *   <record_dir>/by-user/<uid>/               the user's        0700, all in it is written as the user
 *   <state_dir>/pending/                      root:root         0700  one file per record that could not be appended
 */
#ifndef HM_JOB_STORE_STORE_H
#define HM_JOB_STORE_STORE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "core/config/config.h"

struct hm_store_key {
    const char *node; /* made safe as a file name: all but letters, digits, "_", "-" and inner dots become "_" */
    uint32_t job_id;
    uid_t uid; /* of the job */
    gid_t gid;
    int64_t end_ns; /* CLOCK_REALTIME; its day in UTC names the folder */
};

/*
 * Append one line (without its newline) to the node's file of the day, then to the user's own copy (none for root). The
 * record's folder is made only where it is inside the state folder: elsewhere it may be a file system that is not
 * mounted now. Returns 0, 1 where the line was kept in pending/ instead, -1 where it could not be kept at all.
 * error->text says what failed, also with 0 (the copy) and 1.
 */
int hm_store_put(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                 struct hm_error *error);

/*
 * Append what is in pending/, oldest first, until the records cannot be written; at most HM_STORE_PASS of them, and
 * none is begun after 5 s, as some other job waits meanwhile: the rest is for the next call. Returns how many were
 * appended, or -1 with a text where one failed or a file in pending/ is not one of ours (the others are appended all
 * the same). Several processes may call it at once.
 */
#define HM_STORE_PASS 16
int hm_store_retry(const struct hm_config *config, struct hm_error *error);

#endif
