/* SPDX-License-Identifier: Apache-2.0 */
#include "spaces.h"

#include <stdio.h>

#include "base/size.h"
#include "namespace/pmem/parts.h"

static void count(struct ndctl_namespace *namespace, struct hm_memmode_spaces *spaces)
{
    const char *region = ndctl_region_get_devname(ndctl_namespace_get_region(namespace));
    char size[24], name[HM_OWNER_NAME];
    struct hm_owner owner;
    uuid_t uuid;
    uint64_t bytes = ndctl_namespace_get_size(namespace);
    if (bytes == 0)
        return; /* a free place for a namespace, or a label that was not finished: no data */
    if (!hm_pmem_is_ours(namespace, &owner)) {
        if (spaces->n_others++ == 0)
            snprintf(spaces->other, sizeof(spaces->other), "%.24s, %s of %.24s", ndctl_namespace_get_devname(namespace),
                     hm_size_format(bytes, size, sizeof(size)), region);
        return;
    }
    hm_owner_write(&owner, name, uuid);
    if (owner.kind == HM_OWNER_USER && spaces->n_kept++ == 0)
        snprintf(spaces->kept, sizeof(spaces->kept), "%s of uid %u", name, owner.uid);
    if (owner.kind == HM_OWNER_JOB && spaces->n_jobs++ == 0)
        snprintf(spaces->job, sizeof(spaces->job), "%s of job %u", name, owner.job_id);
}

int hm_spaces_read(struct hm_memmode_spaces *spaces, struct hm_error *error)
{
    struct ndctl_namespace *namespace;
    struct hm_pmem *pmem;
    *spaces = (struct hm_memmode_spaces){0};
    if (hm_pmem_open(&pmem, error) != 0)
        return -1;
    for (int i = 0; i < pmem->n_regions; i++) {
        struct ndctl_region *region = pmem->region[i];
        spaces->region_bytes += ndctl_region_get_size(region);
        if (!ndctl_region_is_enabled(region) && !spaces->hidden[0])
            snprintf(spaces->hidden, sizeof(spaces->hidden), "%.24s is disabled", ndctl_region_get_devname(region));
        ndctl_namespace_foreach (region, namespace)
            count(namespace, spaces);
    }
    hm_pmem_close(pmem);
    return 0;
}
