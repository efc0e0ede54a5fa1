/* SPDX-License-Identifier: Apache-2.0 */
/* The begin of a job on this node: its entry in the ledger, and the prolog's verdict on its request. */
#ifndef HM_JOB_HOOKS_BEGIN_H
#define HM_JOB_HOOKS_BEGIN_H

#include "job/ledger/ledger.h"

struct hm_begin {
    uint32_t job_id, restart, het_job_id;
    uid_t uid;
    gid_t gid;
    uint64_t end_s;                                          /* when its time is over, UNIX; 0: not known */
    const char *request;                                     /* the option's text, NULL: not given */
    const char *user, *account, *partition, *cluster, *node; /* NULL: not known */
};

/*
 * Enter the job. An entry that a dead job of the same number left is finished first; that of a job that lives is kept,
 * and completed where a step made it before this prolog ran (PrologFlags=RunInJob); one that is torn is replaced; with
 * one that cannot be read for any other reason nothing is done.
 * `config_error` is why the configuration could not be read (then `config` has the defaults), "" otherwise. `has_left`:
 * one that was finished left memory for a reap (hm_finish_job). Returns 0, or -1 with a text.
 */
int hm_begin_job(const struct hm_config *config, const char *config_error, const struct hm_begin *begin, bool *has_left,
                 struct hm_error *error);

/*
 * Make the DAX file systems of a job that was entered, where it wants some, and bring slow memory online, where it
 * wants that and the configuration says so. What cannot be had is in the entry, for the tasks to say, or as a warning.
 * It may take as long as others' memory is being wiped; where the job has ended meanwhile, what was made is removed
 * again. Returns 0, or -1 with a text.
 */
int hm_begin_provide(const struct hm_config *config, uint32_t job_id, struct hm_error *error);

/* Find the topology and keep it for this boot, unless that was done. Returns 0, or -1 with a text. */
int hm_begin_topology(const struct hm_config *config, struct hm_error *error);

#endif
