/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of records. All folders and files are made with these modes, whatever the umask:
 *
 *   <record_dir>                              root:record_group 0751  others may pass to by-user/, not list
 *   <record_dir>/YYYY-MM-DD/<node>.jsonl      root:record_group 0750, file 0640
 *   <record_dir>/by-user/                     root:root         0711
 *   <record_dir>/by-user/<uid>/               the user's        0700, everything in it is written as the user
 *   <state_dir>/pending/                      root:root         0700  a file for each record not appended yet
 *   <run_dir>/root/node/pending/              root:root         0700  the same, for those that state_dir does not take
 *
 * Where the configuration is wrong, nobody knows record_dir and state_dir. Then record_dir is "", and records wait in
 * run_dir, which is where the ledger was found.
 */
#ifndef HM_JOB_STORE_STORE_H
#define HM_JOB_STORE_STORE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "core/config/config.h"

/*
 * - HM_STORE_AT_ONCE: append it.
 * - HM_STORE_AGAIN: an earlier process may have appended this record: if it is there, it is not appended again.
 * - HM_STORE_LATER: put it into pending/, which is on the node's own disk, and leave the rest to hm_store_retry. A
 *   record folder that hangs then holds up nothing. If that fails, it waits in memory.
 */
enum hm_store_way { HM_STORE_AT_ONCE, HM_STORE_AGAIN, HM_STORE_LATER };

struct hm_store_key {
    const char *node; /* the store makes a safe file name of it: all but letters, digits, "_", "-" and dots after the
                         first character become "_" */
    uint32_t job_id;
    uid_t uid; /* the job's user */
    gid_t gid;
    int64_t end_ns; /* CLOCK_REALTIME; its day, in UTC, names the folder */
    enum hm_store_way way;
};

/*
 * Appends one line (without its newline) to the node's file of the day, then to the user's own copy (not for root). The
 * record folder is made only if it is inside the state folder: elsewhere it may be on a file system that is not mounted
 * at the moment. Returns 0; 1 if the line was put into a pending/ instead: that of run_dir, which is memory, where
 * state_dir takes no more; 2 if the line is given up, as 64 MiB of records wait in memory; -1 if it could not be stored
 * at all.
 * error->text says what failed: it has a text with -1 and 2, with 1 unless the record was to wait, and with 0 if only
 * the copy failed. With record_dir "" the line is only put into run_dir's pending/, and the text says so.
 */
int hm_store_put(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                 struct hm_error *error);

/*
 * Appends the records in pending/, oldest first. Slurm may wait meanwhile: so one call tries to append at most
 * HM_STORE_PASS records of each pending/ and begins none after 5 s; the next call goes on. A record that fails is the
 * last one of the next call; where it was its file of the day that could not be written, this call leaves out the other
 * records of that file. Those in run_dir, which a reboot would end, come first: they go to state_dir if that takes them
 * now, and are appended otherwise; those in state_dir come when none of run_dir was appended. One that is broken gets
 * another name, and files that are no records are passed over: `tell` gets a line for the log of each that is broken,
 * and one of the others. Returns how many were appended, or -1 if one failed and none was appended, or if a pending/
 * cannot be opened or listed. error->text, which the caller has emptied, says why one failed. Several processes may
 * call it at once: one does the work, and the others return 0. With record_dir "" all stays as it is, and 0 is
 * returned.
 */
#define HM_STORE_PASS 16 /* most records that one call tries to append */
int hm_store_retry(const struct hm_config *config, void (*tell)(const char *line), struct hm_error *error);

#endif
