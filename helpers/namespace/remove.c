/* SPDX-License-Identifier: Apache-2.0 */
/* destroy and reap: what is no longer wanted is wiped and given back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../core/path.h"
#include "holders.h"
#include "keep.h"
#include "lock.h"
#include "mark.h"
#include "parts.h"

#define MOST_LIVING (1 << 20)
#define UNDO_PATIENCE_S 10 /* a reap goes on */

/* Which namespaces go. */
struct choice {
    const char *cluster; /* NULL: any */
    enum { OF_JOB, OF_USER, OF_NOBODY } whose;
    uint32_t job_id, restart, uid;
    const char *living;             /* OF_NOBODY: all but theirs, and but what users keep, whole and within its age */
    const struct hm_config *config; /* has that */
    int64_t now_s;
};

/* Is it a user's that was never finished, or is half removed? One without a device cannot be told from one that an
 * administrator has disabled: it stays until its age, or until its user asks for it. */
static bool is_unfinished(const struct hm_namespace *namespace)
{
    char filesystem[HM_MARK_FS];
    return namespace->device[0] && hm_mark_read(namespace->device, &namespace->owner, filesystem, NULL) == 0;
}

/* Is it the rest that a crash has left of what a user keeps? All that was made together is finished, or none of it; a
 * label without size is nothing, and says nothing of others. */
static bool is_rest(const struct hm_namespace *owned, int n, const struct hm_namespace *one)
{
    const struct hm_owner *owner = &one->owner;
    for (int i = 0; i < n && one->bytes > 0; i++)
        if (owned[i].bytes > 0 && hm_owner_is_of_user(&owned[i].owner, owner->cluster, owner->uid) &&
            owned[i].owner.minute == owner->minute && is_unfinished(&owned[i]))
            return true;
    return one->bytes == 0;
}

static bool is_chosen(const struct choice *choice, const struct hm_namespace *owned, int n,
                      const struct hm_namespace *one)
{
    const struct hm_owner *owner = &one->owner;
    if (choice->whose == OF_JOB)
        return hm_owner_is_of_job(owner, choice->cluster, choice->job_id, choice->restart);
    if (choice->whose == OF_USER)
        return hm_owner_is_of_user(owner, choice->cluster, choice->uid);
    if (!hm_owner_is_of_cluster(owner, choice->cluster) || hm_living_has(choice->living, owner))
        return false;
    return owner->kind == HM_OWNER_JOB || hm_keep_is_over(choice->config, owner, choice->now_s) ||
           is_rest(owned, n, one);
}

static int remove_once(const struct hm_owner *owner, struct hm_error *error)
{
    struct hm_pmem *pmem;
    if (hm_pmem_open(&pmem, error) != 0)
        return -1;
    int result = hm_pmem_remove(pmem, owner, error);
    int number = errno;
    hm_pmem_close(pmem);
    errno = number;
    return result;
}

static void add(struct hm_error *all, const char *text)
{
    struct hm_error before = *all;
    hm_fail(all, EIO, "%s%s%s", before.text, before.text[0] ? "; " : "", text);
}

/* What is chosen. Returns how many there are (free the array), or -1. */
static int find_chosen(const struct choice *choice, struct hm_namespace **chosen, struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    struct hm_namespace *owned = NULL;
    int count = 0;
    int n = hm_pmem_open(&pmem, error) == 0 ? hm_pmem_owned(pmem, &owned, error) : -1;
    hm_pmem_close(pmem);
    *chosen = n > 0 ? calloc((size_t)n, sizeof(**chosen)) : NULL;
    if (n > 0 && !*chosen)
        n = hm_fail(error, ENOMEM, "no memory for %d namespaces", n);
    for (int i = 0; i < n; i++)
        if (is_chosen(choice, owned, n, &owned[i]))
            (*chosen)[count++] = owned[i];
    free(owned);
    return n < 0 ? -1 : count;
}

/* Whatever stops us half-way: what is left of it is no longer taken for whole. What is in use keeps its mark. */
static void clear_marks(const struct hm_namespace *chosen, int n)
{
    for (int i = 0; i < n; i++)
        if (chosen[i].owner.kind == HM_OWNER_USER && chosen[i].device[0])
            (void)hm_mark_clear(chosen[i].device, NULL);
}

/* What stays, and why. */
struct left {
    struct hm_error text;
    bool has_failed, is_late;
};

/* One try for each. Those that are in use are moved to the front; what cannot be removed, or not in time, is added to
 * `left`. Returns how many are in use. */
static int try_each(struct hm_namespace *chosen, int n, struct left *left)
{
    int busy = 0;
    for (int i = 0; i < n; i++) {
        struct hm_error inner = {{0}}, one;
        if (remove_once(&chosen[i].owner, &inner) == 0)
            continue;
        if (errno == EBUSY) {
            chosen[busy++] = chosen[i];
        } else {
            bool is_late = errno == ETIME;
            left->is_late = left->is_late || is_late;
            left->has_failed = left->has_failed || !is_late;
            hm_fail(&one, EIO, "%s is left: %s", chosen[i].name, inner.text);
            add(&left->text, one.text);
        }
    }
    return busy;
}

static void add_busy(const struct hm_namespace *namespace, unsigned patience_s, struct left *left)
{
    struct hm_error one;
    char holders[256];
    hm_holders_name(namespace->device, holders, sizeof(holders));
    hm_fail(&one, EBUSY, "%s is still in use after %u s: %s is mounted or open in %s", namespace->name, patience_s,
            namespace->device, holders[0] ? holders : "no process that /proc shows");
    add(&left->text, one.text);
}

/* A failure is worth more than a wipe that wants time, and that more than one in use, which may only want another
 * try. */
static int status_of(const struct left *left, int n_busy)
{
    if (left->has_failed)
        return HM_NAMESPACE_REFUSED;
    if (left->is_late)
        return HM_NAMESPACE_LATE;
    return n_busy > 0 ? HM_NAMESPACE_BUSY : HM_NAMESPACE_DONE;
}

/* Removes all that is chosen, also behind one that cannot be; all of them are waited for together, and nobody else has
 * to wait for that. Returns an exit status. */
static int remove_chosen(const struct choice *choice, const struct hm_namespace_request *request,
                         struct hm_error *error)
{
    struct hm_namespace *chosen = NULL;
    struct left left = {.has_failed = false};
    unsigned pauses = 0;
    int n = find_chosen(choice, &chosen, error);
    if (n < 0)
        return HM_NAMESPACE_REFUSED;
    clear_marks(chosen, n);
    do
        n = try_each(chosen, n, &left);
    while (n > 0 && hm_lock_pause(request->lock, &pauses, request->patience_s));
    int status = status_of(&left, n);
    for (int i = 0; i < n; i++)
        add_busy(&chosen[i], request->patience_s, &left);
    free(chosen);
    if (status != HM_NAMESPACE_DONE)
        *error = left.text;
    return status;
}

static int remove_owned(const char *cluster, bool is_users, const struct hm_namespace_request *request,
                        struct hm_error *error)
{
    const struct choice choice = {.cluster = cluster,
                                  .whose = is_users ? OF_USER : OF_JOB,
                                  .job_id = request->job_id,
                                  .restart = request->restart,
                                  .uid = request->uid};
    return remove_chosen(&choice, request, error);
}

int hm_namespace_undo(const char *cluster, const struct hm_namespace_request *request, struct hm_error *error)
{
    struct hm_namespace_request briefly = *request;
    if (briefly.patience_s > UNDO_PATIENCE_S)
        briefly.patience_s = UNDO_PATIENCE_S;
    return remove_owned(cluster, request->keep, &briefly, error);
}

int hm_namespace_destroy(const struct hm_config *config, const struct hm_namespace_request *request,
                         struct hm_error *error)
{
    (void)config;
    return remove_owned(request->cluster, request->job_id == 0, request, error);
}

/*
 * The list itself, or what is in the file. The lock is held: a namespace that is there now was made before the file is
 * read, and its job was in the file before that. Returns a text to free, or NULL.
 */
static char *read_living(const char *living, struct hm_error *error)
{
    char *list = NULL;
    size_t have = 0;
    ssize_t got;
    int fd = -1;
    if (living[0] != '/') {
        list = strdup(living);
        if (!list)
            hm_fail(error, ENOMEM, "no memory for the list of living jobs");
        return list;
    }
    list = calloc(1, MOST_LIVING);
    fd = list ? hm_path_open(living, error) : hm_fail(error, ENOMEM, "no memory for %s", living);
    if (fd < 0)
        goto failed;
    while ((got = read(fd, list + have, MOST_LIVING - have)) > 0)
        have += (size_t)got;
    if (got < 0 || have == MOST_LIVING) {
        errno = got < 0 ? errno : E2BIG;
        hm_fail_errno(error, "cannot read %s", living);
        goto failed;
    }
    /* A byte of value 0 would hide the jobs behind it. */
    if (strlen(list) != have) {
        hm_fail(error, EINVAL, "%s is not a text: it has a byte of value 0", living);
        goto failed;
    }
    close(fd);
    return list;
failed:
    if (fd >= 0)
        close(fd);
    free(list);
    return NULL;
}

int hm_namespace_reap(const struct hm_config *config, const struct hm_namespace_request *request,
                      struct hm_error *error)
{
    int status = HM_NAMESPACE_REFUSED;
    struct hm_error inner = {{0}};
    char *living = read_living(request->living, error);
    if (!living)
        return status;
    if (hm_living_check(living, &inner) != 0) {
        hm_fail(error, EINVAL, "--living: %s", inner.text);
    } else {
        const struct choice choice = {
            .cluster = request->cluster, .whose = OF_NOBODY, .living = living, .config = config, .now_s = time(NULL)};
        status = remove_chosen(&choice, request, error);
    }
    free(living);
    return status;
}
