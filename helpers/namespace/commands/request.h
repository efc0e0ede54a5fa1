/* SPDX-License-Identifier: Apache-2.0 */
/* What hybridmem-namespace was asked for, checked for form. */
#ifndef HM_NAMESPACE_COMMANDS_REQUEST_H
#define HM_NAMESPACE_COMMANDS_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/set.h"
#include "core/request/request.h"
#include "namespace/mount/mkfs.h"
#include "namespace/ram/blocks.h"

enum hm_namespace_command {
    HM_NAMESPACE_CREATE,
    HM_NAMESPACE_DESTROY,
    HM_NAMESPACE_LIST,
    HM_NAMESPACE_REAP,
    HM_NAMESPACE_CHECK,
    HM_NAMESPACE_RAM_ONLINE,
    HM_NAMESPACE_RAM_OFFLINE,
    HM_NAMESPACE_RAM_LIST,
    HM_NAMESPACE_COMMANDS
};

struct hm_namespace_request {
    enum hm_namespace_command command;
    const char *config;       /* path */
    const char *cluster;      /* NULL: the configuration's */
    const char *living;       /* list of jobs, or the path of a file with one */
    uint32_t job_id, restart; /* 0: none */
    uid_t uid;                /* whose file systems, or, for destroy without a job, who keeps what goes */
    bool keep;                /* what is made outlives the job, and what the user keeps is the job's */
    uint64_t bytes;
    struct hm_set sockets; /* none: by the word, for create, or all */
    enum hm_socket which;
    enum hm_zone zone; /* for ram online */
    const struct hm_filesystem *filesystem;
    bool map_in_pmem, json;
    unsigned patience_s;
    unsigned pauses; /* main's to fill in: what the lock has taken of the patience, as patience.h counts */
    bool detaches;
    unsigned detach_s; /* in use for so long, then mounts are detached, where `detaches` */
    unsigned limit_s;  /* of all wipes together; 0: none */
    int lock;          /* of pmem/lock.h, held while something is changed; main's to fill in */
};

/* The words of the command line. Returns -1 to go on, or the exit status: all is said then. */
int hm_namespace_request_parse(int argc, char **argv, struct hm_namespace_request *request);

#endif
