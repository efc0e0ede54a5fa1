/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has connected to the broker, and for whom they take a place. Besides root's, only the processes of jobs may be
 * clients: otherwise users without a job on this node could take all places, and jobs would go without DAMON. A user
 * may own several uids (subordinate uids, see subuid(5)), so a client takes a place of the user whose job it runs in.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_PEER_H
#define HM_MIGRATOR_DAMON_BROKER_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct hm_damon_peer {
    pid_t pid;
    uid_t uid;           /* whose processes it may name */
    gid_t gid;           /* its group when it connected */
    uid_t owner;         /* whose place it takes: the user of the job in which it runs */
    int pidfd;           /* -1: not known, in tests */
    uint64_t start_time; /* of the process, as in base/process.h; 0: not known */
    uint64_t age_s;      /* how long it had run when it connected */
};

/*
 * Finds which process has connected, and which job's step it runs in (by the node's ledger in `run_dir`). A process of
 * root may be outside of all jobs. The caller closes peer->pidfd. Returns 0, or -1 with a text: EPERM: no step of a job
 * was found for it; ESRCH: it has ended; else the errno of getsockopt.
 */
int hm_damon_peer_find(const char *run_dir, int fd, struct hm_damon_peer *peer, struct hm_error *error);

/*
 * Finds the user of the job that has this cgroup's step, among the entries of the ledger. An entry's file is replaced
 * as a whole, so no lock is needed. Returns 0, or -1 (ENOENT).
 */
int hm_damon_peer_owner(const char *run_dir, const char *cgroup, uid_t *owner);

/* Is this thread in a cgroup of the same step as the client's process, which still lives? */
bool hm_damon_peer_shares_step(const struct hm_damon_peer *peer, pid_t thread);

#endif
