/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's persistent memory through libndctl: what there is, and one namespace made or removed. A removed namespace
 * is wiped first, always. The caller holds the lock where anything is changed.
 */
#ifndef HM_NAMESPACE_PMEM_PMEM_H
#define HM_NAMESPACE_PMEM_PMEM_H

#include "owner.h"
#include "share.h"

#define HM_PMEM_REGIONS 64 /* most of a node */

/* What the kernel shows when it is opened: open it anew after each change. */
struct hm_pmem;

/* A namespace of ours. */
struct hm_namespace {
    struct hm_owner owner;
    char name[HM_OWNER_NAME], uuid[37]; /* the label's */
    char region[24];                    /* "region0" */
    char device[32];                    /* "/dev/pmem0", "" while there is none */
    uint64_t bytes;                     /* of the region's */
};

/* Returns 0 (close it), or -1. */
int hm_pmem_open(struct hm_pmem **pmem, struct hm_error *error);
/* NULL is allowed. */
void hm_pmem_close(struct hm_pmem *pmem);

/* The regions of persistent memory, with their sockets by the topology. Returns how many. */
int hm_pmem_regions(struct hm_pmem *pmem, const struct hm_topology *topology, struct hm_region region[HM_PMEM_REGIONS]);

/* The namespaces that are ours, in the order of their regions; also half-made ones. Returns how many (free the array),
 * or -1 (ENOMEM). */
int hm_pmem_owned(struct hm_pmem *pmem, struct hm_namespace **owned, struct hm_error *error);

/*
 * Make one fsdax namespace; `map_in_pmem`: the map of its pages is in itself, not in DRAM. `made` is filled. Returns 0,
 * or -1: what was done until then has the owner in its label, and hm_pmem_remove undoes it.
 */
int hm_pmem_create(struct hm_pmem *pmem, const struct hm_share *share, const struct hm_owner *owner, bool map_in_pmem,
                   struct hm_namespace *made, struct hm_error *error);

/*
 * Wipe a namespace of ours and give its extent back, in whatever state it was left. Returns 0 (also where there is none
 * of the owner's any more), or -1: EBUSY where a device of it is in use. It is still ours then, however far the wipe
 * came, and another try goes on.
 */
int hm_pmem_remove(struct hm_pmem *pmem, const struct hm_owner *owner, struct hm_error *error);

/* A namespace of ours without a device, as a crash or an administrator's disable leaves it, gets it back where that can
 * be: look anew. */
void hm_pmem_revive(struct hm_pmem *pmem, const struct hm_owner *owner);

#endif
