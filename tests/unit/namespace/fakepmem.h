/* SPDX-License-Identifier: Apache-2.0 */
/* Pretended memory under the commands of hybridmem-namespace: two regions of 1 GiB, and what is cut from them. */
#ifndef FAKEPMEM_H
#define FAKEPMEM_H

#include <stdbool.h>

#include "namespace/commands/parts.h"

#define MOST 4
#define ALWAYS 1000
#define GIB (UINT64_C(1) << 30)

enum mark { MARK_NONE, MARK_THERE, MARK_UNREADABLE };

/* The namespaces that there are, and what becomes of an attempt to remove each. */
struct there {
    struct hm_namespace namespace;
    int busy;            /* for so many tries */
    bool fails, is_late; /* then */
    int tries;
    bool has_open_files; /* else it is no longer busy once it was detached */
    int detached_after;  /* pauses */
    enum mark mark;
    bool cannot_mount;
    bool can_revive; /* has no device until then */
};

struct fake {
    struct there there[MOST];
    int n_there, pauses, lock;
    int fails_on;        /* mkfs on the namespace of this socket, -1: none */
    int dies_before;     /* the mark of this socket is not written, -1: none */
    bool stays;          /* what is made now cannot be removed */
    bool is_policy_left; /* the kernel's, for new memory, cannot be put back */
    int released;        /* so often it was */
    uint64_t kept_bytes; /* as mkfs was told last */
    int looks, first_mounts, revived;
};

extern struct fake fake;

/* Nothing is there; the lock is held. For cmocka. */
int fake_begin(void **state);
int fake_end(void **state);

/* Add a job's, and what a user keeps, finished: the device is /dev/nopmemSOCKET, or /dev/nokeptUID.MINUTE.SOCKET. */
void fake_add(uint32_t job_id, unsigned socket, int busy, bool fails);
struct there *fake_keep(uint32_t uid, uint32_t minute, unsigned socket, uint64_t bytes);

#endif
