/* SPDX-License-Identifier: Apache-2.0 */
#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"

#define ENTRY_BYTES (256 * 1024) /* large groups have long lists of members */
#define GROUPS_MAX 4096

static int add_groups(struct hm_identity *identity, char *buffer, struct hm_error *error)
{
    int count = GROUPS_MAX, named = 0;
    gid_t *ids = malloc(GROUPS_MAX * sizeof(*ids));
    if (!ids)
        return hm_fail(error, ENOMEM, "no memory for the groups of %s", identity->name);
    if (getgrouplist(identity->name, identity->gid, ids, &count) < 0)
        count = GROUPS_MAX;
    identity->groups = calloc((size_t)count + 1, sizeof(*identity->groups));
    for (int i = 0; identity->groups && i < count; i++) {
        struct group group, *found = NULL;
        /* A group without a name cannot match a rule. */
        if (getgrgid_r(ids[i], &group, buffer, ENTRY_BYTES, &found) != 0 || !found)
            continue;
        identity->groups[named] = strdup(found->gr_name);
        if (!identity->groups[named])
            break;
        named++;
    }
    free(ids);
    return identity->groups ? 0 : hm_fail(error, ENOMEM, "no memory for the groups of %s", identity->name);
}

static int fill(struct hm_identity *identity, const struct passwd *user, char *buffer, struct hm_error *error)
{
    memset(identity, 0, sizeof(*identity));
    identity->uid = user->pw_uid;
    identity->gid = user->pw_gid;
    hm_text_copy(identity->name, user->pw_name, sizeof(identity->name));
    return add_groups(identity, buffer, error);
}

int hm_identity_of_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error)
{
    struct passwd user, *found = NULL;
    char *buffer = malloc(ENTRY_BYTES);
    if (!buffer)
        return hm_fail(error, ENOMEM, "no memory to look up uid %u", uid);
    int number = getpwuid_r(uid, &user, buffer, ENTRY_BYTES, &found);
    int result = found ? fill(identity, found, buffer, error)
                       : hm_fail(error, number ? number : ENOENT, "there is no user with uid %u", uid);
    free(buffer);
    return result;
}

void hm_identity_free(struct hm_identity *identity)
{
    for (char **group = identity->groups; group && *group; group++)
        free(*group);
    free(identity->groups);
    identity->groups = NULL;
}
