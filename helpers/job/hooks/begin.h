/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a job on this node: its entry in the ledger, and the prolog's verdict on its request. */
#ifndef HM_JOB_HOOKS_BEGIN_H
#define HM_JOB_HOOKS_BEGIN_H

#include "job/ledger/ledger.h"

struct hm_begin {
    uint32_t job_id, restart, het_job_id;
    uid_t uid;
    gid_t gid;
    /* UNIX time at which the job's time limit ends; 0: not known */
    uint64_t end_s;
    const char *request;                                     /* the option's text; NULL: not given */
    const char *user, *account, *partition, *cluster, *node; /* NULL: not known */
};

/*
 * Enters the job in the ledger. What happens to an entry that is already there under the same number:
 *
 * - of this run of the job, made by an earlier prolog: it is kept;
 * - of an earlier run of this job, of another user's job, or of a dead one: that job is finished first, and a new entry
 *   is made;
 * - torn, or not understood by this version: it is replaced;
 * - unreadable for any other reason: nothing is done, and -1 is returned.
 *
 * `config_error` is why the configuration could not be read (then `config` has the defaults), "" otherwise. Sets
 * `has_left` if the job that was finished first left memory for a later reap (see hm_finish_job). Returns 0, or -1 with
 * a text.
 */
int hm_begin_job(const struct hm_config *config, const char *config_error, const struct hm_begin *begin, bool *has_left,
                 struct hm_error *error);

/*
 * Enters why the job cannot have what it asked for: the tasks print this reason and fail. For a mode that is only the
 * partition's default it is a warning, and the job goes on without that mode. The caller writes the entry.
 */
void hm_begin_refuse(struct hm_job *job, const char *why);

/* Finds the topology and keeps it for this boot, unless that was done before. Returns 0, or -1 with a text. */
int hm_begin_topology(const struct hm_config *config, struct hm_error *error);

#endif
