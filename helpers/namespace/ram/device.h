/* SPDX-License-Identifier: Apache-2.0 */
/* The DAX devices of devdax namespaces, through libdaxctl, as devices or as memory of the kernel. Each call looks at
 * the kernel anew. Where anything is changed, the caller holds the lock of the node's namespaces (pmem/lock.h). */
#ifndef HM_NAMESPACE_RAM_DEVICE_H
#define HM_NAMESPACE_RAM_DEVICE_H

#include "blocks.h"
#include "core/topology/topology.h"

enum hm_ram_driver {
    HM_RAM_UNBOUND, /* it has no driver */
    HM_RAM_DEVDAX,  /* a character device */
    HM_RAM_KMEM     /* memory; its blocks may be online */
};

struct hm_ram_device {
    char name[24];   /* "dax0.0" */
    char region[24]; /* "region0" */
    int socket;      /* index as in hm_topology; -1: unknown */
    int node;        /* NUMA node that it becomes; -1: the firmware names none */
    uint64_t start;  /* physical address */
    uint64_t bytes;  /* size of the device */
    enum hm_ram_driver driver;
    struct hm_blocks blocks; /* valid where the driver is kmem */
};

/* Find all devices, except those of namespaces that hybridmem has made. Returns how many (free the array), or -1. */
int hm_ram_find(const struct hm_topology *topology, struct hm_ram_device **devices, struct hm_error *error);

/* Read the device's driver and blocks again. Returns 0, or -1 with errno: ENODEV where it is gone. */
int hm_ram_look(struct hm_ram_device *device, struct hm_error *error);

/* Give the device another driver. Its memory must be offline. Returns 0, or -1; the device may then have no driver. */
int hm_ram_bind(const struct hm_ram_device *device, enum hm_ram_driver driver, struct hm_error *error);

/* Bring the device's offline blocks online in a zone, movable or normal. Returns 0, also where libdaxctl finds
 * a block in another zone (look at the zones afterwards, by hm_ram_look), or -1. */
int hm_ram_online(const struct hm_ram_device *device, enum hm_zone zone, struct hm_error *error);

/* Take the device's blocks offline: all, or all but the highest. The kernel moves their content away. Returns 0, or -1
 * with errno and perhaps some blocks offline: EBUSY where no further block could be emptied for `patience_s`. */
int hm_ram_offline(const struct hm_ram_device *device, bool with_last, unsigned patience_s, struct hm_error *error);

#endif
