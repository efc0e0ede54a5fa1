/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DAX devices of devdax namespaces, through libdaxctl: as devices, or as the kernel's memory. Each call looks at
 * the kernel anew; the caller holds the lock where anything is changed.
 */
#ifndef HM_NAMESPACE_RAM_DEVICE_H
#define HM_NAMESPACE_RAM_DEVICE_H

#include "blocks.h"
#include "core/topology/topology.h"

enum hm_ram_driver {
    HM_RAM_UNBOUND, /* no driver has it */
    HM_RAM_DEVDAX,  /* a character device */
    HM_RAM_KMEM     /* memory, of which blocks may be online */
};

struct hm_ram_device {
    char name[24];   /* "dax0.0" */
    char region[24]; /* "region0" */
    int socket;      /* index as in hm_topology, -1 where it cannot be told */
    int node;        /* NUMA node that it becomes, -1 where the firmware names none */
    uint64_t start;  /* physical address */
    uint64_t bytes;  /* of the device */
    enum hm_ram_driver driver;
    struct hm_blocks blocks; /* where the driver is kmem */
};

/* All of them, but none of namespaces that hybridmem made for a job. Returns how many (free the array), or -1. */
int hm_ram_find(const struct hm_topology *topology, struct hm_ram_device **devices, struct hm_error *error);

/* Read driver and blocks again. Returns 0, or -1 (ENODEV: it is gone). */
int hm_ram_look(struct hm_ram_device *device, struct hm_error *error);

/* Give the device to another driver. Memory of it must be offline. Returns 0 or -1; it may have no driver then. */
int hm_ram_bind(const struct hm_ram_device *device, enum hm_ram_driver driver, struct hm_error *error);

/* Bring its blocks that are offline online in the zone, movable or normal. Returns 0 or -1. */
int hm_ram_online(const struct hm_ram_device *device, enum hm_zone zone, struct hm_error *error);

/*
 * Take its blocks offline, all or all but one; the kernel moves away what is in them. Returns 0, or -1 (EBUSY: for
 * `patience_s` no further block could be emptied), with some of them offline.
 */
int hm_ram_offline(const struct hm_ram_device *device, bool with_last, unsigned patience_s, struct hm_error *error);

#endif
