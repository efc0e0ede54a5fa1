/* SPDX-License-Identifier: Apache-2.0 */
/* The commands destroy and reap: wipe and remove namespaces that are no longer wanted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "choose.h"
#include "namespace/mount/detach.h"
#include "namespace/mount/holders.h"
#include "namespace/pmem/lock.h"
#include "namespace/pmem/mark.h"
#include "namespace/pmem/overdue.h"
#include "namespace/ram/autoonline.h"
#include "namespace/ram/blocks.h"
#include "parts.h"

#define UNDO_PATIENCE_S 10 /* longest wait of hm_namespace_undo; a later reap removes the rest */
#define HOLDERS 256        /* bytes of a text that names processes */
/* Longest times for all devices together, as prologs and epilogs of others wait meanwhile. */
#define NAMING_S 2 /* to look for these processes */
#define DETACH_S 10

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

/* Clear the mark, so that a removal which stops half-way leaves nothing that looks whole. This fails for a namespace in
 * use, which keeps its mark. */
static void clear_mark(const struct hm_namespace *chosen)
{
    if (chosen->owner.kind == HM_OWNER_USER && chosen->device[0])
        (void)hm_mark_clear(chosen->device, NULL);
}

/* What could not be removed, and why. */
struct left {
    struct hm_error text;
    bool has_failed, is_late;
    char detached[HOLDERS]; /* processes that saw the last mount that was detached */
};

/* Try to remove each one. Those in use are moved to the front. Others that cannot be removed, or not in time, are added
 * to `left`. Returns how many are in use. */
static int try_each(struct hm_namespace *chosen, int n, struct left *left)
{
    int busy = 0;
    /* Clear the marks of all before the first is removed, as they were made together. */
    for (int i = 0; i < n; i++)
        clear_mark(&chosen[i]);
    for (int i = 0; i < n; i++) {
        struct hm_error inner = {{0}}, one;
        if (remove_once(&chosen[i].owner, &inner) == 0)
            continue;
        if (errno == EBUSY) {
            chosen[busy++] = chosen[i];
        } else {
            bool is_late = errno == ETIME || hm_is_shortage(errno);
            left->is_late = left->is_late || is_late;
            left->has_failed = left->has_failed || !is_late;
            hm_fail(&one, EIO, "%s is left: %s", chosen[i].name, inner.text);
            add(&left->text, one.text);
        }
    }
    return busy;
}

static void add_busy(const struct hm_namespace *namespace, unsigned patience_s, double end_s, struct left *left)
{
    struct hm_error one;
    char holders[HOLDERS];
    const char *by = "no process that /proc shows";
    int found = hm_holders_find(namespace->device, end_s, holders, sizeof(holders));
    if (found > 0)
        by = holders;
    else if (left->detached[0])
        by = left->detached;
    else if (found < 0)
        by = "a process that was not found in time";
    hm_fail(&one, EBUSY, "%s is still in use after %u s: %s is mounted or open in %s", namespace->name, patience_s,
            namespace->device, by);
    add(&left->text, one.text);
}

/*
 * Detach mounts that only the job's processes see. The mounts are then gone from their folders, but open files still
 * keep the device in use. The lock has been held since the namespaces were found in use, so the devices still belong to
 * them.
 */
static void detach_all(const struct hm_namespace *chosen, int n, struct left *left)
{
    char names[HOLDERS];
    double end_s = hm_clock_s(CLOCK_MONOTONIC) + DETACH_S;
    for (int i = 0; i < n; i++)
        if (chosen[i].device[0] && hm_detach(chosen[i].device, end_s, names, sizeof(names)))
            memcpy(left->detached, names, sizeof(names));
}

static const struct hm_namespace *find_owned(const struct hm_namespace *owned, int n, const struct hm_owner *owner)
{
    for (int i = 0; i < n; i++)
        if (hm_owner_is_equal(&owned[i].owner, owner))
            return &owned[i];
    return NULL;
}

/* The patience is over, and the lock is not held: a list that is made now says at most which devices they have, for a
 * line that names who has them. */
static void look_beside(struct hm_namespace *chosen, int n)
{
    struct hm_namespace *owned;
    struct hm_error why;
    int n_owned = hm_choose_owned(&owned, &why);
    for (int i = 0; i < n; i++) {
        const struct hm_namespace *now = find_owned(owned, n_owned, &chosen[i].owner);
        if (now)
            chosen[i] = *now;
        else
            chosen[i].device[0] = '\0';
    }
    free(owned);
}

/*
 * Look at the chosen namespaces again after others could have the lock: what they removed is dropped, and the kernel
 * may have given its device to another owner's. Returns how many are left. If that cannot be said, all are added to
 * `left`.
 */
static int look_again(struct hm_namespace *chosen, int n, struct left *left)
{
    struct hm_namespace *owned;
    struct hm_error why = {{0}}, one;
    int count = 0, n_owned = hm_choose_owned(&owned, &why);
    bool is_late = n_owned < 0 && hm_is_shortage(errno);
    left->is_late = left->is_late || is_late;
    left->has_failed = left->has_failed || (n_owned < 0 && !is_late);
    for (int i = 0; i < n; i++) {
        const struct hm_namespace *now = find_owned(owned, n_owned, &chosen[i].owner);
        if (now) {
            chosen[count++] = *now;
        } else if (n_owned < 0) {
            hm_fail(&one, EIO, "%s is left: %s", chosen[i].name, why.text);
            add(&left->text, one.text);
        }
    }
    free(owned);
    return count;
}

/* Try until all are removed or the patience is over. Others can take the lock between tries. Returns how many are in
 * use. */
static int try_all(struct hm_namespace *chosen, int n, const struct hm_namespace_request *request, struct left *left)
{
    const double detach_s = hm_clock_s(CLOCK_MONOTONIC) + request->detach_s;
    uint64_t since_ns = request->since_ns ? request->since_ns : hm_clock_ns(CLOCK_MONOTONIC);
    bool is_to_detach = request->detaches, goes_on;
    do {
        n = try_each(chosen, n, left);
        if (n > 0 && is_to_detach && hm_clock_s(CLOCK_MONOTONIC) >= detach_s) {
            detach_all(chosen, n, left);
            is_to_detach = false;
            n = try_each(chosen, n, left); /* the patience may be over */
        }
        goes_on = n > 0 && hm_lock_pause(request->lock, &since_ns, request->patience_s);
        if (n > 0 && !goes_on)
            look_beside(chosen, n);
        else if (n > 0)
            n = look_again(chosen, n, left);
    } while (n > 0 && goes_on);
    return n;
}

/* Choose the exit status: a failure counts most, then a wipe that needs more time or memory, then a namespace in use,
 * which may only need another try. */
static int status_of(const struct left *left, int n_busy)
{
    if (left->has_failed)
        return HM_NAMESPACE_LEFT;
    if (left->is_late)
        return HM_NAMESPACE_LATE;
    return n_busy > 0 ? HM_NAMESPACE_BUSY : HM_NAMESPACE_DONE;
}

/* Remove all chosen namespaces, even after one has failed, and wait for all together. Returns an exit status. */
static int remove_chosen(const struct hm_choice *choice, const struct hm_namespace_request *request,
                         struct hm_error *error)
{
    struct hm_namespace *chosen = NULL;
    struct left left = {.has_failed = false};
    int n = hm_choose(choice, &chosen, error);
    if (n < 0)
        return hm_is_shortage(errno) ? HM_NAMESPACE_LATE : HM_NAMESPACE_REFUSED;
    n = try_all(chosen, n, request, &left);
    int status = status_of(&left, n);
    double end_s = hm_clock_s(CLOCK_MONOTONIC) + NAMING_S;
    for (int i = 0; i < n; i++)
        add_busy(&chosen[i], request->patience_s, end_s, &left);
    free(chosen);
    if (status != HM_NAMESPACE_DONE)
        *error = left.text;
    return status;
}

static int remove_owned(const char *cluster, bool is_users, const struct hm_namespace_request *request,
                        struct hm_error *error)
{
    const struct hm_choice choice = {.cluster = cluster,
                                     .whose = is_users ? HM_CHOICE_OF_USER : HM_CHOICE_OF_JOB,
                                     .job_id = request->job_id,
                                     .restart = request->restart,
                                     .uid = request->uid};
    return remove_chosen(&choice, request, error);
}

int hm_namespace_undo(const char *cluster, const struct hm_namespace_request *request, struct hm_error *error)
{
    struct hm_namespace_request briefly = *request;
    briefly.since_ns = 0; /* what create has waited for does not count */
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

int hm_namespace_reap(const struct hm_config *config, const struct hm_namespace_request *request,
                      struct hm_error *error)
{
    struct hm_error why = {{0}};
    /* Put back the kernel's policy for new memory that a killed `ram online` has set aside (autoonline.h), as there may
     * be no other `ram` to do it. No namespace depends on this. */
    if (hm_autoonline_release(HM_BLOCKS_SYSTEM, config, &why) != 0)
        fprintf(stderr, "hybridmem namespace: %s\n", why.text);
    char *living = hm_living_read(request->living, error);
    if (!living)
        return HM_NAMESPACE_REFUSED;
    char *notes = hm_overdue_read(config);
    const struct hm_choice choice = {.cluster = request->cluster,
                                     .whose = HM_CHOICE_OF_NOBODY,
                                     .living = living,
                                     .config = config,
                                     .notes = notes,
                                     .now_s = time(NULL)};
    int status = remove_chosen(&choice, request, error);
    free(notes);
    free(living);
    return status;
}
