/* SPDX-License-Identifier: Apache-2.0 */
/* A user's name and the names of his groups, for the configuration's rules. */
#ifndef HM_IDENTITY_H
#define HM_IDENTITY_H

#include <sys/types.h>

#include "../core/error.h"

struct hm_identity {
    uid_t uid;
    gid_t gid;
    char name[64];
    char **groups; /* NULL-terminated */
};

/* Look the user up. Returns 0 (free with hm_identity_free), or -1: ENOENT where there is no such user. */
int hm_identity_of_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error);
/* The same by name. */
int hm_identity_of_name(const char *name, struct hm_identity *identity, struct hm_error *error);
void hm_identity_free(struct hm_identity *identity);

#endif
