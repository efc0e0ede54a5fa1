/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of a process from /proc/PID/maps, and finds out what of it may be moved. */
#ifndef HM_MIGRATOR_WATCH_MAPSREAD_H
#define HM_MIGRATOR_WATCH_MAPSREAD_H

#include "claims.h"
#include "devices.h"
#include "maps.h"

struct hm_maps_file { /* as in struct hm_mapping */
    uint64_t device, inode;
};

struct hm_maps_reader {
    pid_t pid;
    uint32_t space; /* the process's number (ranks.h) */
    struct hm_devices *devices;
    struct hm_claims *claims;         /* NULL: all memory has its home where it is mapped */
    const struct hm_maps_file *aside; /* files whose mappings are left out; `n_aside` of them */
    size_t n_aside;
};

/*
 * Replaces the content of `maps` by the memory of the process; hm_maps_free frees it. Returns 0, or -1 (ENOENT or
 * ESRCH: the process has ended; else the errno of open(2)). If there are too many ranges, or memory is short, only the
 * first are read.
 */
int hm_maps_read(struct hm_maps *maps, const struct hm_maps_reader *reader, struct hm_error *error);

#endif
