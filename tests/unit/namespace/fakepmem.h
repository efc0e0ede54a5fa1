/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated persistent memory for the commands of hybridmem-namespace: two regions of 1 GiB, and their namespaces. */
#ifndef FAKEPMEM_H
#define FAKEPMEM_H

#include <stdbool.h>

#include "namespace/commands/parts.h"

#define MOST 4
#define ALWAYS 1000
#define GIB (UINT64_C(1) << 30)

/* The mark at a kept device's end: all file systems made together with it are finished (namespace/pmem/mark.h). */
enum mark { MARK_NONE, MARK_THERE, MARK_UNREADABLE };

/* One existing namespace, and what happens when it is removed or mounted. */
struct there {
    struct hm_namespace namespace;
    int busy;    /* number of tries for which it is in use */
    bool fails;  /* once it is not in use any more, removing it fails with EIO */
    int late_by; /* removing it then fails with this errno instead; 0: only `fails` counts */
    int tries;
    bool has_open_files; /* false: after a detach it is not in use any more */
    int detached_after;  /* number of pauses before it was detached; unchanged if it was not detached */
    enum mark mark;
    int cannot_mount_by; /* errno with which a trial mount fails; 0: it succeeds */
    bool can_revive;     /* it gets a device when it is revived */
};

struct fake {
    struct there there[MOST];
    int n_there, pauses;    /* pauses: of 100 ms each */
    uint64_t now_ms;        /* CLOCK_MONOTONIC and CLOCK_BOOTTIME; pauses and tries take time */
    unsigned try_ms;        /* how long a try to remove a namespace takes */
    bool detach_hangs;      /* each detach takes all the time that it has, and fails */
    int lock;               /* descriptor of the held lock */
    int fails_on;           /* socket whose mkfs fails; -1: none */
    int no_mark_on;         /* socket whose mark cannot be written; -1: none */
    int no_pmem_by;         /* errno with which hm_pmem_open fails; 0: it succeeds */
    bool ends_at_boot;      /* another mode of the memory was asked for */
    bool stays;             /* new namespaces of jobs cannot be removed */
    bool is_policy_left;    /* the kernel's policy for new memory cannot be put back */
    void (*at_pause)(void); /* another process that has the lock in each pause; NULL: there is none */
    int released;           /* how often the policy was to be put back */
    uint64_t fs_bytes;      /* arguments of the last hm_mkfs_run */
    bool fs_is_kept;
    int marked;                       /* largest number of marks that were there while a namespace was removed */
    int looks, first_mounts, revived; /* calls of hm_look_mount, hm_first_mount and hm_pmem_revive */
};

extern struct fake fake;

/* Set-up for cmocka: no namespaces exist, and the lock is held. */
int fake_begin(void **state);
int fake_end(void **state);

/* Add a namespace of a job, or a finished one that a user keeps. The device is /dev/nopmemSOCKET, or
 * /dev/nokeptUID.MINUTE.SOCKET. */
void fake_add(uint32_t job_id, unsigned socket, int busy, bool fails);
struct there *fake_keep(uint32_t uid, uint32_t minute, unsigned socket, uint64_t bytes);

#endif
