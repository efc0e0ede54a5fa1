/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of memory the files of a file system are, by its device number. */
#ifndef HM_MIGRATOR_WATCH_DEVICES_H
#define HM_MIGRATOR_WATCH_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "migrator/figures/kinds.h"

#define HM_DEVICES 128 /* most devices that are remembered */

struct hm_device {
    uint64_t number;          /* major << 32 | minor */
    enum hm_memory_kind kind; /* SHARED, FILE, HUGETLB or OTHER */
    uint64_t huge_bytes;      /* of HUGETLB: the size of its pages; 0: not known */
};

struct hm_devices {
    size_t n;
    struct hm_device device[HM_DEVICES];
};

/*
 * Begins with the file systems that only the kernel mounts: of shared memory, and of huge pages. What cannot be found
 * out is left out, and taken for files.
 */
void hm_devices_init(struct hm_devices *devices);
/*
 * The device of a mapping of process `pid`. A device that is new is looked up in the process's mounts, as a job may
 * have some of its own. A file system that is not found there counts as FILE.
 */
struct hm_device hm_devices_find(struct hm_devices *devices, uint64_t number, pid_t pid);
/* Parses a line of /proc/PID/mountinfo. Returns 0, or -1 (EBADMSG) if it has another form. Pure. */
int hm_devices_parse_mount(const char *line, struct hm_device *device);

#endif
