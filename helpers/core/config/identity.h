/* SPDX-License-Identifier: Apache-2.0 */
/* A user's name and the names of his groups, for the configuration's rules. */
#ifndef HM_CORE_CONFIG_IDENTITY_H
#define HM_CORE_CONFIG_IDENTITY_H

#include <sys/types.h>

#include "base/error.h"

struct hm_identity {
    uid_t uid;
    gid_t gid;
    char name[64];
    char **groups; /* NULL-terminated */
};

struct hm_config;
struct hm_request;

/* Who asks for something. */
struct hm_asker {
    const struct hm_identity *identity;     /* NULL: this node cannot look the user up */
    const char *unknown;                    /* why it cannot */
    const char *user, *account, *partition; /* Slurm's names, "" where they are not known */
};

/*
 * May the user have this request (hm_config_allows)? One whom this node cannot look up is refused only where a rule
 * needs the answer: a directory service that fails must not fail jobs. Pure. Returns 0, or -1 with a text.
 */
int hm_identity_judge(const struct hm_config *config, const struct hm_request *request, const struct hm_asker *asker,
                      struct hm_error *error);

/*
 * Look the user up. It may take as long as a directory service takes to answer: not with the ledger's lock. Returns 0
 * (free with hm_identity_free), or -1: ENOENT where there is no such user.
 */
int hm_identity_of_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error);
void hm_identity_free(struct hm_identity *identity);

#endif
