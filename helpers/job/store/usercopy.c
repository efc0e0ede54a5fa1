/* SPDX-License-Identifier: Apache-2.0 */
#include "usercopy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "append.h"
#include "base/files.h"
#include "base/flock.h"
#include "base/spawn.h"

#define COPY_MS 3000 /* after this the child is killed: a user can hold it up, as by a lock on their own file */
#define TURN_MS 2500

/* What the child needs to know. */
struct copy {
    int own; /* the user's own folder of records */
    const struct hm_store_key *key;
    const char *day, *file, *line;
    size_t n_same;
};

/*
 * Takes the lock of the user's own folder, which stays with this process until it ends. A user can make a change of
 * their folders last for ever, and the child that makes it cannot be killed then. While there is one such child, the
 * next one gives up here, so that they do not pile up. Where folders cannot be locked, each child goes on.
 */
static bool has_turn(int own)
{
    return hm_flock_wait(own, TURN_MS) == 0 || errno != ETIMEDOUT;
}

/* Runs in the child, as the user. Returns 0 or an errno, as the exit status. */
static int write_copy(void *data)
{
    const struct copy *copy = data;
    const struct hm_store_key *key = copy->key;
    const struct hm_rights folder = {0700, key->uid, key->gid, true}, records = {0600, key->uid, key->gid, true};
    if (!has_turn(copy->own))
        return EBUSY;
    int in_day = hm_folder_open(copy->own, copy->day, &folder, NULL);
    return in_day < 0 || hm_line_append(in_day, copy->file, &records, copy->line, copy->n_same, NULL) != 0 ? errno : 0;
}

/* The time limit is kept here, not in the child: the child runs as the user, who can stop it and its timers. */
static int wait_for_child(pid_t pid, uid_t uid, struct hm_error *error)
{
    int status = hm_spawn_wait_for(pid, COPY_MS);
    if (status >= 0 && WIFSIGNALED(status))
        return hm_fail(error, ECANCELED, "the copy for user %u was not written: signal %d", uid, WTERMSIG(status));
    int number = status < 0 ? errno : WEXITSTATUS(status);
    return number == 0 ? 0 : hm_fail(error, number, "the copy for user %u was not written: %s", uid, strerror(number));
}

int hm_usercopy_append(int records, const struct hm_store_key *key, const char *day, const char *file, const char *line,
                       size_t n_same, struct hm_error *error)
{
    char name[16];
    int own = -1, result = -1;
    if (key->uid == 0)
        return 0;
    const struct hm_rights all = {HM_FOLDER_PASS, geteuid(), getegid(), false}, user = {0700, key->uid, key->gid, true};
    snprintf(name, sizeof(name), "%u", key->uid);
    int by_user = hm_folder_open(records, "by-user", &all, error);
    if (by_user < 0)
        return -1;
    own = hm_folder_open(by_user, name, &user, error);
    if (own < 0)
        goto done;
    /* The child keeps no descriptor of root's but `own`: not the ledger's lock, not the records of others. */
    struct copy copy = {own, key, day, file, line, n_same};
    const struct hm_spawn_call call = {
        .run = write_copy, .data = &copy, .kept = own, .drop = key->uid != geteuid(), .uid = key->uid, .gid = key->gid};
    pid_t pid = hm_spawn_call(&call, error);
    result = pid < 0 ? -1 : wait_for_child(pid, key->uid, error);
done:
    if (own >= 0)
        close(own);
    close(by_user);
    return result;
}
