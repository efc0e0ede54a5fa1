/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the node's persistent memory, and makes and removes single namespaces of it, through libndctl. A namespace is
 * always wiped before it is removed. Where anything is changed, the caller holds the lock of the node's
 * namespaces (lock.h). */
#ifndef HM_NAMESPACE_PMEM_PMEM_H
#define HM_NAMESPACE_PMEM_PMEM_H

#include "owner.h"
#include "share.h"

#define HM_PMEM_REGIONS 64 /* most regions of a node */

/* The kernel's state at the time of hm_pmem_open. Open it again after each change. */
struct hm_pmem;

/* A namespace that hybridmem has made. */
struct hm_namespace {
    struct hm_owner owner;
    char name[HM_OWNER_NAME], uuid[37]; /* from the label */
    char region[24];                    /* "region0" */
    char device[32];                    /* "/dev/pmem0"; "" while there is none */
    uint64_t bytes;                     /* bytes of the region that it takes */
};

/* Look at the kernel's state. Returns 0 (then close it), or -1. */
int hm_pmem_open(struct hm_pmem **pmem, struct hm_error *error);
/* Close it. NULL is allowed. */
void hm_pmem_close(struct hm_pmem *pmem);

/* Get the regions of persistent memory, with their sockets by the topology. Returns how many. */
int hm_pmem_regions(struct hm_pmem *pmem, const struct hm_topology *topology, struct hm_region region[HM_PMEM_REGIONS]);

/* Get the namespaces that hybridmem has made, also half-made ones, region by region. Returns how many (free the array),
 * or -1 (ENOMEM). */
int hm_pmem_owned(struct hm_pmem *pmem, struct hm_namespace **owned, struct hm_error *error);

/* Make one fsdax namespace. With `map_in_pmem` the map of its pages is in the namespace itself, not in DRAM. `made` is
 * filled. Returns 0, or -1: then what was done so far has the owner in its label, and hm_pmem_remove undoes it, unless
 * another program has overwritten the label (EAGAIN). */
int hm_pmem_create(struct hm_pmem *pmem, const struct hm_share *share, const struct hm_owner *owner, bool map_in_pmem,
                   struct hm_namespace *made, struct hm_error *error);

/*
 * Wipe the owner's namespace and free its space, in whatever state it was left. Returns 0 (also where there is no such
 * namespace), or -1: EBUSY where its device is in use. After an error it still belongs to the owner, and another try
 * continues.
 */
int hm_pmem_remove(struct hm_pmem *pmem, const struct hm_owner *owner, struct hm_error *error);

/* Try to give the owner's namespace its device again, where a crash or an administrator has left it without one. Look
 * at the kernel's state again after this. */
void hm_pmem_revive(struct hm_pmem *pmem, const struct hm_owner *owner);

#endif
