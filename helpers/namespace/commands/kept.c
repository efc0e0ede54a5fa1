/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rundir.h"
#include "namespace/mount/firstmount.h"
#include "namespace/pmem/keep.h"
#include "namespace/pmem/overdue.h"

static int by_socket(const void *a, const void *b)
{
    unsigned first = ((const struct hm_namespace *)a)->owner.socket,
             second = ((const struct hm_namespace *)b)->owner.socket;
    return (first > second) - (first < second);
}

/* List what the user keeps. With `revives`, also have the kernel look again at namespaces without a device. Returns 0
 * or -1. */
static int list(const struct hm_namespace_request *request, const char *cluster, bool revives, struct hm_kept *kept,
                struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    struct hm_namespace *owned = NULL;
    int result = 0, n = hm_pmem_open(&pmem, error) == 0 ? hm_pmem_owned(pmem, &owned, error) : -1;
    kept->n = 0;
    for (int i = 0; i < n && result == 0; i++) {
        if (owned[i].bytes == 0 || !hm_owner_is_of_user(&owned[i].owner, cluster, request->uid))
            continue;
        if (kept->n == HM_MAX_SOCKETS)
            result = hm_fail(error, EEXIST, "user %u keeps more than %d namespaces: destroy --uid %u removes them",
                             request->uid, HM_MAX_SOCKETS, request->uid);
        else
            kept->namespace[kept->n++] = owned[i];
        if (revives && !owned[i].device[0])
            hm_pmem_revive(pmem, &owned[i].owner);
    }
    free(owned);
    hm_pmem_close(pmem);
    qsort(kept->namespace, (size_t)kept->n, sizeof(kept->namespace[0]), by_socket);
    return n < 0 ? -1 : result;
}

/* Were all kept namespaces finished? Fills in their file systems. Returns 1, 0 where one was not finished, or -1 where
 * one has no device or cannot be read. */
static int are_finished(struct hm_kept *kept, struct hm_error *error)
{
    int result = 1;
    for (int i = 0; i < kept->n; i++) {
        const struct hm_namespace *one = &kept->namespace[i];
        int mark = one->device[0] ? hm_mark_read(one->device, &one->owner, kept->filesystem[i], error)
                                  : hm_fail(error, ENODEV, "%s has no device", one->name);
        if (mark == 0)
            return 0;
        if (mark < 0)
            result = -1;
    }
    return result;
}

/* Refuse to use what the user keeps, and say why. It is left alone, as the user may want to have it saved. */
static int refuse_damaged(const struct hm_config *config, const struct hm_kept *kept, struct hm_error *error)
{
    const struct hm_error why = *error;
    char until[HM_MOMENT];
    const struct hm_owner *owner = &kept->namespace[0].owner;
    return hm_fail(
        error, EIO,
        "what user %u keeps on this node cannot be used: %s: it is left alone until %s, for an administrator "
        "to look at, or to remove (hybridmem namespace destroy --uid %u)",
        owner->uid, why.text, hm_keep_until(config, owner, until), owner->uid);
}

/* Refuse to use what the user keeps, as long as an earlier job's use of it is not over, or the node is short of
 * memory. */
static int refuse_for_now(const struct hm_kept *kept, struct hm_error *error)
{
    const struct hm_error why = *error;
    return hm_fail(error, EBUSY, "what user %u keeps on this node cannot be used yet: %s: submit again later",
                   kept->namespace[0].owner.uid, why.text);
}

static int look_at_all(const struct hm_config *config, const struct hm_kept *kept, struct hm_error *error)
{
    char place[HM_CONFIG_PATH_MAX + HM_RUNDIR_NODE_PATH];
    hm_rundir_node_path(config->run_dir, NULL, place, sizeof(place));
    for (int i = 0; i < kept->n; i++)
        if (hm_look_mount(kept->namespace[i].device, kept->filesystem[i], place, error) != 0)
            return errno == EBUSY || hm_is_shortage(errno) ? refuse_for_now(kept, error)
                                                           : refuse_damaged(config, kept, error);
    return 0;
}

/* Remove everything that the user keeps, and print why. Returns 0 or -1. */
static int discard(const struct hm_namespace_request *request, const char *cluster, const char *why,
                   struct hm_kept *kept, struct hm_error *error)
{
    fprintf(stderr, "hybridmem namespace: what user %u keeps on this node %s: it is wiped, and made anew\n",
            request->uid, why);
    kept->n = 0;
    return hm_namespace_undo(cluster, request, error) == HM_NAMESPACE_DONE ? 0 : -1;
}

int hm_kept_find(const struct hm_config *config, const struct hm_namespace_request *request, const char *cluster,
                 struct hm_kept *kept, struct hm_error *error)
{
    bool is_over = false, lacks_device = false;
    if (list(request, cluster, true, kept, error) != 0)
        return -1;
    char *notes = hm_overdue_read(config);
    for (int i = 0; i < kept->n; i++) {
        is_over = is_over || hm_overdue_is_due(config, notes, &kept->namespace[i], time(NULL));
        lacks_device = lacks_device || !kept->namespace[i].device[0];
    }
    free(notes);
    if (is_over)
        return discard(request, cluster, "is past its age", kept, error);
    if (lacks_device && list(request, cluster, false, kept, error) != 0)
        return -1;
    int finished = are_finished(kept, error);
    if (finished == 0)
        return discard(request, cluster, "was never finished, or is half removed", kept, error);
    if (finished < 0)
        return refuse_damaged(config, kept, error);
    const struct hm_owned owned = {kept->namespace, kept->n};
    if (kept->n > 0 && hm_keep_fits(config, &owned, &request->sockets, request->bytes, error) != 0)
        return -1;
    return look_at_all(config, kept, error);
}

int hm_kept_finish(const struct hm_namespace *made, int n, const char *filesystem, struct hm_error *error)
{
    for (int i = 0; i < n; i++)
        if (hm_mark_write(made[i].device, &made[i].owner, filesystem, error) != 0)
            return -1;
    return 0;
}
