/* SPDX-License-Identifier: Apache-2.0 */
/* A user's name and group names, and whether the configuration's rules allow the user a request. */
#ifndef HM_CORE_CONFIG_IDENTITY_H
#define HM_CORE_CONFIG_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

#define HM_IDENTITY_NAME 64 /* room for a user's name, with the terminating 0, here and in the ledger's entries */

struct hm_identity {
    uid_t uid;
    gid_t gid;
    char name[HM_IDENTITY_NAME];
    char **groups; /* NULL-terminated */
};

struct hm_config;
struct hm_request;

/* The user who asks for a mode. */
struct hm_asker {
    const struct hm_identity *identity; /* NULL: this node cannot look the user up */
    const char *unknown;                /* why it cannot, for the error text */
    const char *doubt; /* why a group's rule may apply although the user is not known to be in the group; "": none */
    const char *user, *account, *partition; /* names from Slurm; "" where they are not known */
};

/* May the user have this request (hm_config_allows)? A name or group that a rule needs but this node does not know
 * is a reason to refuse. One that no rule needs may be missing: a failing directory service or prolog must not fail
 * jobs. `off` is always allowed. Pure. Returns 0, or -1 with a text. */
int hm_identity_judge(const struct hm_config *config, const struct hm_request *request, const struct hm_asker *asker,
                      struct hm_error *error);

/* Does a rule need a user's name or groups? If not, the user need not be looked up for hm_identity_judge. */
bool hm_identity_is_needed(const struct hm_config *config);

/* Look up the user, with all groups. This can take as long as a directory service needs to answer: what root runs for
 * jobs, and a user's sbatch, use lookup.h. Returns 0 (free with hm_identity_free), or -1: ENOENT where there is no such
 * user; ENAMETOOLONG where the name does not fit into the identity. */
int hm_identity_of_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error);
void hm_identity_free(struct hm_identity *identity);

#endif
