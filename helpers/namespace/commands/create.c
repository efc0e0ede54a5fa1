/* SPDX-License-Identifier: Apache-2.0 */
/* The command create: makes a namespace with a file system on each socket of the request, all or none; or finds those
 * that the user has kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/rundir.h"
#include "core/tiers/boot.h"
#include "kept.h"
#include "namespace/mount/firstmount.h"
#include "namespace/pmem/asked.h"
#include "namespace/pmem/blockdevice.h"
#include "namespace/pmem/daxkernel.h"
#include "namespace/pmem/keep.h"
#include "parts.h"

/* Refuse if the job already has namespaces. They may belong to an earlier job with the same number; only a reap, which
 * knows the living jobs, can tell. */
static int refuse_twice(const struct hm_owned *owned, const struct hm_owner *owner, struct hm_error *error)
{
    for (int i = 0; i < owned->n; i++)
        if (owned->namespace[i].bytes > 0 &&
            hm_owner_is_of_job(&owned->namespace[i].owner, owner->cluster, owner->job_id, owner->restart))
            return hm_fail(error, EEXIST, "job %u.%u has %s already: destroy it first", owner->job_id, owner->restart,
                           owned->namespace[i].name);
    return 0;
}

/* Choose space for the namespaces. Those of a job may take all free space. Those that a user keeps may take only the
 * share that hybridmem.conf allows for keeping. Returns the number of shares, or -1. */
static int divide(const struct hm_config *config, const struct hm_namespace_request *request,
                  const struct hm_owner *owner, struct hm_pmem *pmem, struct hm_region *region, int n_regions,
                  struct hm_share share[HM_MAX_SOCKETS], struct hm_error *error)
{
    struct hm_namespace *namespace = NULL;
    int result = -1, n = hm_pmem_owned(pmem, &namespace, error);
    const struct hm_owned owned = {namespace, n};
    if (n >= 0 && request->keep)
        result = hm_keep_plan(config, region, n_regions, &owned, owner->uid, &request->sockets, request->bytes, share,
                              error);
    else if (n >= 0 && refuse_twice(&owned, owner, error) == 0)
        result = hm_share_plan(region, n_regions, &request->sockets, request->bytes, share, error);
    free(namespace);
    return result;
}

/* Plan what to make, and in which regions. Returns the number of shares, or -1. */
static int plan(const struct hm_config *config, const struct hm_namespace_request *request,
                const struct hm_owner *owner, struct hm_region region[HM_PMEM_REGIONS],
                struct hm_share share[HM_MAX_SOCKETS], struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    int result = -1;
    struct hm_topology *topology = malloc(sizeof(*topology));
    if (!topology)
        return hm_fail(error, ENOMEM, "no memory for the topology");
    if (hm_mkfs_program(request->filesystem, error) && hm_topology_of_node(config, topology, error) == 0 &&
        hm_pmem_open(&pmem, error) == 0)
        result = divide(config, request, owner, pmem, region, hm_pmem_regions(pmem, topology, region), share, error);
    hm_pmem_close(pmem);
    free(topology);
    return result;
}

static int make_one(const struct hm_config *config, const struct hm_namespace_request *request,
                    const struct hm_share *share, const struct hm_owner *owner, struct hm_namespace *made,
                    struct hm_error *error)
{
    char place[HM_CONFIG_PATH_MAX + HM_RUNDIR_NODE_PATH];
    struct hm_pmem *pmem = NULL;
    int result = -1;
    hm_rundir_node_path(config->run_dir, NULL, place, sizeof(place));
    if (hm_pmem_open(&pmem, error) == 0 && hm_pmem_create(pmem, share, owner, request->map_in_pmem, made, error) == 0) {
        uint64_t bytes = hm_mark_room(hm_device_bytes(made->device));
        if (hm_mkfs_run(request->filesystem, made->device, bytes, request->keep, error) == 0)
            result = hm_first_mount(made->device, hm_mkfs_name(request->filesystem), place, request->uid, error);
    }
    hm_pmem_close(pmem);
    return result;
}

static int make_all(const struct hm_config *config, const struct hm_namespace_request *request,
                    const struct hm_share *share, int n, struct hm_owner *owner,
                    struct hm_namespace made[HM_MAX_SOCKETS], struct hm_error *error)
{
    for (int i = 0; i < n; i++) {
        owner->socket = (unsigned)share[i].region->socket;
        if (make_one(config, request, &share[i], owner, &made[i], error) != 0)
            return -1;
    }
    return request->keep ? hm_kept_finish(made, n, hm_mkfs_name(request->filesystem), error) : 0;
}

/* Print the namespaces. Returns an exit status. */
static int show(const struct hm_config *config, const struct hm_namespace *made, int n,
                const char *const filesystem[HM_MAX_SOCKETS], struct hm_error *error)
{
    json_t *shown = json_array();
    for (int i = 0; i < n; i++)
        if (json_array_append_new(shown, hm_namespace_json(config, &made[i], filesystem[i])) != 0) {
            json_decref(shown);
            hm_fail(error, ENOMEM, "no memory to show %s", made[i].name);
            return HM_NAMESPACE_REFUSED;
        }
    return hm_json_print("namespaces", shown, error);
}

/* Remove what was made before a failure. Where something cannot be removed, the text says so after the first error, and
 * the exit status is HM_NAMESPACE_LEFT: the end of the job, or a reap, then tries again. Returns an exit status. */
static int undo(const struct hm_namespace_request *request, const char *cluster, struct hm_error *error)
{
    struct hm_error why = *error, left = {{0}};
    if (hm_namespace_undo(cluster, request, &left) == HM_NAMESPACE_DONE)
        return HM_NAMESPACE_REFUSED;
    hm_fail(error, EIO, "%s; %s", why.text, left.text);
    return HM_NAMESPACE_LEFT;
}

static int make(const struct hm_config *config, const struct hm_namespace_request *request, struct hm_owner *owner,
                struct hm_error *error)
{
    struct hm_region region[HM_PMEM_REGIONS];
    struct hm_share share[HM_MAX_SOCKETS];
    struct hm_namespace made[HM_MAX_SOCKETS];
    const char *filesystem[HM_MAX_SOCKETS];
    int n = plan(config, request, owner, region, share, error);
    if (n < 0)
        return HM_NAMESPACE_REFUSED;
    for (int i = 0; i < n; i++)
        filesystem[i] = hm_mkfs_name(request->filesystem);
    int status = make_all(config, request, share, n, owner, made, error) == 0 ? show(config, made, n, filesystem, error)
                                                                              : HM_NAMESPACE_REFUSED;
    return status == HM_NAMESPACE_DONE ? status : undo(request, owner->cluster, error);
}

/* Print what the user has kept. It stays as it is, even if printing fails. */
static int give_kept(const struct hm_config *config, const struct hm_kept *kept, struct hm_error *error)
{
    const char *filesystem[HM_MAX_SOCKETS];
    for (int i = 0; i < kept->n; i++)
        filesystem[i] = kept->filesystem[i];
    return show(config, kept->namespace, kept->n, filesystem, error);
}

/* Find the sockets of this process's CPUs. Returns 0 or -1. */
static int find_local(const struct hm_topology *topology, struct hm_set *local, struct hm_error *error)
{
    struct hm_set cpus;
    hm_set_clear(&cpus);
    if (syscall(SYS_sched_getaffinity, 0, sizeof(cpus.word), cpus.word) < 0)
        return hm_fail_errno(error, "cannot tell this process's CPUs");
    hm_topology_sockets_of_cpus(topology, &cpus, local);
    return 0;
}

/* Where a word names the sockets, find out which sockets it means here. Returns 0 or -1. */
static int name_sockets(const struct hm_config *config, struct hm_namespace_request *request, struct hm_error *error)
{
    struct hm_region region[HM_PMEM_REGIONS];
    struct hm_pmem *pmem = NULL;
    struct hm_set local;
    int result = -1;
    if (!hm_set_is_empty(&request->sockets))
        return 0;
    struct hm_topology *topology = malloc(sizeof(*topology));
    if (!topology)
        return hm_fail(error, ENOMEM, "no memory for the topology");
    if (hm_topology_of_node(config, topology, error) == 0 && find_local(topology, &local, error) == 0 &&
        hm_pmem_open(&pmem, error) == 0)
        result = hm_share_sockets(request->which, region, hm_pmem_regions(pmem, topology, region), &local,
                                  &request->sockets, error);
    hm_pmem_close(pmem);
    free(topology);
    return result;
}

int hm_namespace_create(const struct hm_config *config, const struct hm_namespace_request *asked,
                        struct hm_error *error)
{
    struct hm_namespace_request named = *asked;
    const struct hm_namespace_request *request = &named;
    struct hm_kept kept = {.n = 0};
    struct hm_owner owner = {.kind = HM_OWNER_JOB, .job_id = request->job_id, .restart = request->restart};
    if (request->keep)
        owner = (struct hm_owner){.kind = HM_OWNER_USER, .uid = request->uid, .minute = (uint32_t)(time(NULL) / 60)};
    hm_owner_set_cluster(&owner, request->cluster ? request->cluster : config->cluster);
    if (hm_dax_kernel_check(config, error) != 0 || name_sockets(config, &named, error) != 0)
        return HM_NAMESPACE_REFUSED;
    if (request->keep &&
        (hm_keep_check_offer(config, error) != 0 || hm_kept_find(config, request, owner.cluster, &kept, error) != 0))
        return HM_NAMESPACE_REFUSED;
    if (kept.n > 0)
        return give_kept(config, &kept, error);
    return hm_asked_allows(config, error) == 0 ? make(config, request, &owner, error) : HM_NAMESPACE_REFUSED;
}
