/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up users and groups within a limit of time. The C library's functions wait for a directory service (sssd, LDAP)
 * for as long as the service takes, and a process cannot cut them short. So they are called in another process,
 * `hybridmem-job lookup`, which is killed after 5 s. What root runs for jobs, and a user's sbatch, use the functions
 * below. Do not hold the ledger's lock when you call them.
 */
#ifndef HM_CORE_CONFIG_LOOKUP_H
#define HM_CORE_CONFIG_LOOKUP_H

#include "identity.h"

/* Look up a user and the names of all their groups. Returns 0 (free with hm_identity_free), or -1: ENOENT where there
 * is no such user, or their name is too long for the identity; ETIMEDOUT where nothing answered in time; EIO where the
 * other process cannot be started or gives no whole answer. */
int hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error);
/* Look up a user by name, without groups. Returns 0 or -1, as above. */
int hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *error);
/* Look up a group by name. Returns 0 or -1, as above. */
int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error);

/*
 * May the user be in a group that forbids the request, though it is not among their groups? Where one of several
 * directory services fails, the C library reports the user's groups from the others, without an error. The groups of
 * the failed one then cannot be looked up either. So this looks up each group that is not among the user's and whose
 * rule does not allow the request, and then the user once more, as the service may have come back in between. Returns
 * true, with a text for the job's user, at the first group that is unknown or cannot be looked up, and where the second
 * look at the user fails or finds them in such a group; else false. It is also true where HM_LOOKUP_ALL_S have passed
 * since `since_ms`, on CLOCK_MONOTONIC, before the last look-up begins: rules may name many groups, and a prolog has
 * little time. Give the time at which the first look-up of the user began.
 */
bool hm_lookup_doubts(const struct hm_config *config, const struct hm_request *request,
                      const struct hm_identity *identity, int64_t since_ms, struct hm_error *doubt);
#define HM_LOOKUP_ALL_S 15

/* What to look up. */
struct hm_question {
    const char *kind; /* "uid", "user" or "group" */
    const char *word; /* a number for "uid", else a name */
};

/*
 * Run `program` as `hybridmem-job lookup KIND WORD`, and read its answer; kill it after `patience_ms`. A torn answer
 * counts as none: with a group missing, the user would get what that group's rule forbids. For a group, only
 * identity->gid is set. Returns 0 (free with hm_identity_free) or -1, as above.
 */
int hm_lookup_ask(const char *program, const struct hm_question *question, int patience_ms,
                  struct hm_identity *identity, struct hm_error *error);

/* The other side, for `hybridmem-job lookup`: look up, and write the answer to standard output. Where there is no
 * answer, write the reason to standard error. Returns the exit status: 0, or 1 where there is no answer, or it cannot
 * be written. */
int hm_lookup_answer(const struct hm_question *question);

#endif
