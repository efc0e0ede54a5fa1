/* SPDX-License-Identifier: Apache-2.0 */
#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"

#define ENTRY_BYTES (256 * 1024) /* large groups have long lists of members */
#define ENTRY_MOST (64 * ENTRY_BYTES)
#define GROUPS_MAX 4096

struct buffer {
    char *at;
    size_t size;
};

/* Find a group's entry; *found is NULL for a group without a name, which matches no rule. Returns 0 or an errno. */
static int find_group(gid_t id, struct buffer *buffer, struct group *group, struct group **found)
{
    for (;;) {
        int number = getgrgid_r(id, group, buffer->at, buffer->size, found);
        bool is_none = number == ENOENT || number == ESRCH || number == EBADF || number == EPERM;
        if (number != ERANGE || buffer->size >= ENTRY_MOST)
            return is_none ? 0 : number;
        char *larger = realloc(buffer->at, 4 * buffer->size);
        if (!larger)
            return ENOMEM;
        *buffer = (struct buffer){larger, 4 * buffer->size};
    }
}

/* Fills in the names of all groups, or fails: the rule for a group whose name is missing could not forbid anything. */
static int add_groups(struct hm_identity *identity, struct buffer *buffer, struct hm_error *error)
{
    int count = GROUPS_MAX, named = 0;
    gid_t *ids = malloc(GROUPS_MAX * sizeof(*ids));
    if (!ids)
        return hm_fail(error, ENOMEM, "no memory for the groups of %s", identity->name);
    int number = getgrouplist(identity->name, identity->gid, ids, &count) < 0 ? E2BIG : 0;
    identity->groups = number ? NULL : calloc((size_t)count + 1, sizeof(*identity->groups));
    for (int i = 0; identity->groups && !number && i < count; i++) {
        struct group group, *found = NULL;
        number = find_group(ids[i], buffer, &group, &found);
        if (found && !number && !(identity->groups[named++] = strdup(found->gr_name)))
            number = ENOMEM;
    }
    free(ids);
    if (identity->groups && !number)
        return 0;
    hm_identity_free(identity);
    return hm_fail(error, number ? number : ENOMEM, "the groups of %s are not all known: %s", identity->name,
                   strerror(number ? number : ENOMEM));
}

static int fill(struct hm_identity *identity, const struct passwd *user, struct buffer *buffer, struct hm_error *error)
{
    memset(identity, 0, sizeof(*identity));
    identity->uid = user->pw_uid;
    identity->gid = user->pw_gid;
    /* A name that was cut would be another user's, or nobody's, and this user's groups and rules would not apply. */
    if (strlen(user->pw_name) >= sizeof(identity->name))
        return hm_fail(error, ENAMETOOLONG, "the name of the user with uid %u has more than %zu bytes", user->pw_uid,
                       sizeof(identity->name) - 1);
    hm_text_copy(identity->name, user->pw_name, sizeof(identity->name));
    return add_groups(identity, buffer, error);
}

int hm_identity_of_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error)
{
    struct passwd user, *found = NULL;
    char entry[16 * 1024];
    struct buffer buffer = {malloc(ENTRY_BYTES), ENTRY_BYTES};
    if (!buffer.at)
        return hm_fail(error, ENOMEM, "no memory to look up uid %u", uid);
    int number = getpwuid_r(uid, &user, entry, sizeof(entry), &found);
    int result = -1;
    errno = number;
    if (found)
        result = fill(identity, found, &buffer, error);
    else if (number == 0)
        hm_fail(error, ENOENT, "there is no user with uid %u", uid);
    else
        hm_fail_errno(error, "uid %u cannot be looked up", uid);
    number = errno;
    free(buffer.at);
    errno = number;
    return result;
}

void hm_identity_free(struct hm_identity *identity)
{
    for (char **group = identity->groups; group && *group; group++)
        free(*group);
    free(identity->groups);
    identity->groups = NULL;
}
