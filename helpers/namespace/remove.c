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
#include "parts.h"

#define PAUSE_NS 100000000L
#define PAUSES_PER_S 10
#define MOST_LIVING (1 << 20)

/* Which namespaces go. */
struct choice {
    const char *cluster; /* NULL: any */
    bool is_reap;        /* all but the living's, else the one job's */
    const char *living;
    uint32_t job_id, restart;
};

static bool is_chosen(const struct choice *choice, const struct hm_owner *owner)
{
    if (choice->is_reap)
        return hm_owner_is_of_cluster(owner, choice->cluster) && !hm_living_has(choice->living, owner);
    return hm_owner_is_of_job(owner, choice->cluster, choice->job_id, choice->restart);
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

/* Waits while it is in use. Returns an exit status; the text says which namespace it is about. */
static int remove_patiently(const struct hm_namespace *namespace, unsigned patience_s, struct hm_error *error)
{
    struct hm_error inner = {{0}};
    char holders[256];
    int result = remove_once(&namespace->owner, &inner);
    for (unsigned pauses = 0; result != 0 && errno == EBUSY && pauses < patience_s * PAUSES_PER_S; pauses++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        result = remove_once(&namespace->owner, &inner);
    }
    if (result == 0)
        return HM_NAMESPACE_DONE;
    if (errno != EBUSY) {
        hm_fail(error, errno, "%s: %s", namespace->name, inner.text);
        return HM_NAMESPACE_REFUSED;
    }
    hm_holders_name(namespace->device, holders, sizeof(holders));
    hm_fail(error, EBUSY, "%s is still in use after %u s: %s is mounted or open in %s", namespace->name, patience_s,
            namespace->device, holders[0] ? holders : "no process that /proc shows");
    return HM_NAMESPACE_BUSY;
}

/* Removes all that is chosen, also behind one that cannot be. Returns an exit status; each failure but the last is said
 * here. */
static int remove_chosen(const struct choice *choice, unsigned patience_s, struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    struct hm_namespace *owned = NULL;
    int status = HM_NAMESPACE_DONE;
    int n = hm_pmem_open(&pmem, error) == 0 ? hm_pmem_owned(pmem, &owned, error) : -1;
    hm_pmem_close(pmem);
    for (int i = 0; i < n; i++) {
        struct hm_error inner = {{0}};
        if (!is_chosen(choice, &owned[i].owner))
            continue;
        int one = remove_patiently(&owned[i], patience_s, &inner);
        if (one == HM_NAMESPACE_DONE)
            continue;
        if (status != HM_NAMESPACE_DONE)
            fprintf(stderr, "hybridmem namespace: %s\n", error->text);
        *error = inner;
        status = status == HM_NAMESPACE_BUSY ? status : one;
    }
    free(owned);
    return n < 0 ? HM_NAMESPACE_REFUSED : status;
}

int hm_namespace_remove_job(const char *cluster, const struct hm_namespace_request *request, struct hm_error *error)
{
    const struct choice choice = {.cluster = cluster, .job_id = request->job_id, .restart = request->restart};
    return remove_chosen(&choice, request->patience_s, error);
}

int hm_namespace_destroy(const struct hm_config *config, const struct hm_namespace_request *request,
                         struct hm_error *error)
{
    (void)config;
    return hm_namespace_remove_job(request->cluster, request, error);
}

/* The list itself, or what is in the file. Returns a text to free, or NULL. */
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
    (void)config;
    if (!living)
        return status;
    if (hm_living_check(living, &inner) != 0) {
        hm_fail(error, EINVAL, "--living: %s", inner.text);
    } else {
        const struct choice choice = {.cluster = request->cluster, .is_reap = true, .living = living};
        status = remove_chosen(&choice, request->patience_s, error);
    }
    free(living);
    return status;
}
