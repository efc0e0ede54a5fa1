/* SPDX-License-Identifier: Apache-2.0 */
/* create: a namespace and a file system on each socket, or nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../job/topology.h"
#include "firstmount.h"
#include "parts.h"

#define UNDO_PATIENCE_S 10 /* the job waits to be told; a reap goes on */

/* Does the job have namespaces already? They may have another job's data under the same number: a reap decides. */
static int refuse_twice(struct hm_pmem *pmem, const struct hm_owner *owner, struct hm_error *error)
{
    struct hm_namespace *owned;
    int result = 0;
    int n = hm_pmem_owned(pmem, &owned, error);
    for (int i = 0; i < n && result == 0; i++)
        if (owned[i].bytes > 0 && hm_owner_is_of_job(&owned[i].owner, owner->cluster, owner->job_id, owner->restart))
            result = hm_fail(error, EEXIST, "job %u.%u has %s already: destroy it first", owner->job_id, owner->restart,
                             owned[i].name);
    free(owned);
    return n < 0 ? -1 : result;
}

/* What is to be made, with the regions it is made of. Returns the number of shares, or -1. */
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
        hm_pmem_open(&pmem, error) == 0 && refuse_twice(pmem, owner, error) == 0)
        result = hm_share_plan(region, hm_pmem_regions(pmem, topology, region), &request->sockets, request->bytes,
                               share, error);
    hm_pmem_close(pmem);
    free(topology);
    return result;
}

static int make_one(const struct hm_config *config, const struct hm_namespace_request *request,
                    const struct hm_share *share, const struct hm_owner *owner, struct hm_namespace *made,
                    struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    int result = -1;
    if (hm_pmem_open(&pmem, error) == 0 && hm_pmem_create(pmem, share, owner, request->map_in_pmem, made, error) == 0 &&
        hm_mkfs_run(request->filesystem, made->device, error) == 0)
        result = hm_first_mount(made->device, hm_mkfs_name(request->filesystem), config->run_dir, request->uid, error);
    hm_pmem_close(pmem);
    return result;
}

static int make_all(const struct hm_config *config, const struct hm_namespace_request *request,
                    const struct hm_share *share, int n, struct hm_owner *owner, json_t *shown, struct hm_error *error)
{
    struct hm_namespace made = {0};
    for (int i = 0; i < n; i++) {
        owner->socket = (unsigned)share[i].region->socket;
        if (make_one(config, request, &share[i], owner, &made, error) != 0)
            return -1;
        if (json_array_append_new(shown, hm_namespace_json(&made, hm_mkfs_name(request->filesystem))) != 0)
            return hm_fail(error, ENOMEM, "no memory to show %s", made.name);
    }
    return 0;
}

/* All or nothing. What is left nevertheless is said behind why it came to this. */
static int undo(const struct hm_namespace_request *request, const char *cluster, struct hm_error *error)
{
    struct hm_error why = *error, left = {{0}};
    struct hm_namespace_request briefly = *request;
    if (briefly.patience_s > UNDO_PATIENCE_S)
        briefly.patience_s = UNDO_PATIENCE_S;
    if (hm_namespace_remove_job(cluster, &briefly, &left) != HM_NAMESPACE_DONE)
        hm_fail(error, EIO, "%s; %s", why.text, left.text);
    return HM_NAMESPACE_REFUSED;
}

int hm_namespace_create(const struct hm_config *config, const struct hm_namespace_request *request,
                        struct hm_error *error)
{
    struct hm_region region[HM_PMEM_REGIONS];
    struct hm_share share[HM_MAX_SOCKETS];
    struct hm_owner owner = {.job_id = request->job_id, .restart = request->restart};
    hm_owner_set_cluster(&owner, request->cluster ? request->cluster : config->cluster);
    int n = plan(config, request, &owner, region, share, error);
    if (n < 0)
        return HM_NAMESPACE_REFUSED;
    json_t *shown = json_array();
    int status = make_all(config, request, share, n, &owner, shown, error) == 0
                     ? hm_json_print("namespaces", json_incref(shown), error)
                     : HM_NAMESPACE_REFUSED;
    if (status != HM_NAMESPACE_DONE)
        status = undo(request, owner.cluster, error);
    json_decref(shown);
    return status;
}
