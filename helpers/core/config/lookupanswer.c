/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem-job lookup`: looks up a user or group, and writes the answer that lookup.c reads. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "lookup.h"

#define ANSWERED 0
#define FAILED 1

static int write_identity(const struct hm_identity *identity)
{
    unsigned count = 0;
    while (identity->groups && identity->groups[count])
        count++;
    printf("%u %u %u %s\n", identity->uid, identity->gid, count, identity->name);
    for (unsigned i = 0; i < count; i++)
        puts(identity->groups[i]);
    return fflush(stdout) == 0 ? ANSWERED : FAILED;
}

/* Writes why there is no answer, for a person; the program that asks does not read standard error. */
static int fail(const char *why)
{
    fprintf(stderr, "error: %s\n", why);
    return FAILED;
}

/*
 * Answers that there is no such user or group, or that the user's name is too long. Not for a directory service that
 * fails: then there is no answer.
 */
static int write_none(const char *why)
{
    printf("no %s\n", why);
    return fflush(stdout) == 0 ? ANSWERED : FAILED;
}

static int answer_uid(const char *word)
{
    uint64_t uid;
    struct hm_identity identity;
    struct hm_error error = {0};
    if (hm_size_parse_number(word, 0, UINT32_MAX, &uid, &error) != 0)
        return fail(error.text);
    if (hm_identity_of_uid((uid_t)uid, &identity, &error) != 0)
        return errno == ENOENT || errno == ENAMETOOLONG ? write_none(error.text) : fail(error.text);
    int status = write_identity(&identity);
    hm_identity_free(&identity);
    return status;
}

static int answer_user(const char *word)
{
    errno = 0;
    const struct passwd *user = getpwnam(word);
    if (!user)
        return errno && errno != ENOENT ? fail(strerror(errno)) : write_none("there is no such user");
    return write_identity(&(struct hm_identity){.uid = user->pw_uid, .gid = user->pw_gid});
}

static int answer_group(const char *word)
{
    errno = 0;
    const struct group *group = getgrnam(word);
    if (!group)
        return errno && errno != ENOENT ? fail(strerror(errno)) : write_none("there is no such group");
    return write_identity(&(struct hm_identity){.gid = group->gr_gid});
}

int hm_lookup_answer(const struct hm_question *question)
{
    static const struct {
        const char *kind;
        int (*answer)(const char *word);
    } kinds[] = {{"uid", answer_uid}, {"user", answer_user}, {"group", answer_group}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].kind, question->kind) == 0)
            return kinds[i].answer(question->word);
    return fail("the word after lookup is uid, user or group");
}
