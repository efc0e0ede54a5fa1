/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hybridmem-namespace, parsed and checked for its form. */
#ifndef HM_NAMESPACE_COMMANDS_COMMANDLINE_H
#define HM_NAMESPACE_COMMANDS_COMMANDLINE_H

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
    HM_NAMESPACE_PROVISION,
    HM_NAMESPACE_RAM_ONLINE,
    HM_NAMESPACE_RAM_OFFLINE,
    HM_NAMESPACE_RAM_LIST,
    HM_NAMESPACE_COMMANDS
};

struct hm_namespace_request {
    enum hm_namespace_command command;
    const char *config;       /* path of hybridmem.conf */
    const char *cluster;      /* NULL: for create that of the configuration, else any */
    const char *living;       /* list of jobs, or the path of a file with one */
    uint32_t job_id, restart; /* job_id 0: no job */
    uid_t uid;                /* owner of the file systems; destroy without a job removes those that this user keeps */
    bool keep;                /* the file systems outlive the job, and the job gets those that the user has kept */
    bool apply;               /* provision: do it */
    uint64_t bytes;           /* for create */
    uint64_t ram_bytes;       /* provision: of a devdax namespace in each region; 0: none */
    struct hm_set sockets;    /* empty: by `which` for create, else all */
    enum hm_socket which;
    enum hm_zone zone; /* for ram online */
    const struct hm_filesystem *filesystem;
    bool map_in_pmem, json;
    unsigned patience_s;
    uint64_t since_ns; /* set by main: start of the wait for the lock. patience_s (not for ram) counts from it */
    bool detaches;
    unsigned detach_s; /* if `detaches`: mounts that are still in use after this time are detached */
    unsigned limit_s;  /* time limit of all wipes together; 0: none */
    int lock;          /* set by main: the lock (pmem/lock.h), held while something is changed */
};

/* Parse the command line. Returns -1 to go on, or the exit status where the command is done. */
int hm_namespace_request_parse(int argc, char **argv, struct hm_namespace_request *request);

#endif
