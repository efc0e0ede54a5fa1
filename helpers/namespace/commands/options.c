/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <string.h>

#include "base/size.h"

/* A bit for each command. */
enum {
    CREATE = 1 << HM_NAMESPACE_CREATE,
    DESTROY = 1 << HM_NAMESPACE_DESTROY,
    LIST = 1 << HM_NAMESPACE_LIST,
    REAP = 1 << HM_NAMESPACE_REAP,
    CHECK = 1 << HM_NAMESPACE_CHECK,
    PROVISION = 1 << HM_NAMESPACE_PROVISION,
    RAM_ONLINE = 1 << HM_NAMESPACE_RAM_ONLINE,
    RAM_OFFLINE = 1 << HM_NAMESPACE_RAM_OFFLINE,
    RAM_LIST = 1 << HM_NAMESPACE_RAM_LIST,
    RAM = RAM_ONLINE | RAM_OFFLINE | RAM_LIST,
    OF_JOBS = CREATE | DESTROY | LIST | REAP
};

static int take_number(const char *text, uint64_t from, uint64_t most, uint32_t *out, struct hm_error *error)
{
    uint64_t number = 0;
    int result = hm_size_parse_number(text, from, most, &number, error);
    *out = (uint32_t)number;
    return result;
}

static int take_job(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 1, UINT32_MAX, &request->job_id, error);
}

static int take_restart(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 0, UINT32_MAX, &request->restart, error);
}

static int take_uid(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 0, UINT32_MAX - 1, &request->uid, error);
}

static int take_patience(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 0, 86400, &request->patience_s, error);
}

static int take_limit(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 1, 86400, &request->limit_s, error);
}

static int take_detach(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->detaches = true;
    return take_number(text, 0, 86400, &request->detach_s, error);
}

static int take_size(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return hm_size_parse(text, &request->bytes, error);
}

static int take_ram(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return hm_size_parse(text, &request->ram_bytes, error);
}

static int take_sockets(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    static const char *const words[] = {
        [HM_SOCKET_ALL] = "all", [HM_SOCKET_LOCAL] = "local", [HM_SOCKET_REMOTE] = "remote"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && request->command == HM_NAMESPACE_CREATE; i++)
        if (strcmp(text, words[i]) == 0) {
            request->which = (enum hm_socket)i;
            return 0;
        }
    if (hm_set_parse(&request->sockets, text, error) != 0)
        return -1;
    return hm_set_is_empty(&request->sockets)
               ? hm_fail(error, EINVAL, "\"\" names no socket: write a list, as in \"0,1\"")
               : 0;
}

static int take_fs(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->filesystem = hm_mkfs_find(text);
    return request->filesystem ? 0
                               : hm_fail(error, EINVAL, "\"%.40s\" is no file system for DAX: use ext4 or xfs", text);
}

static int take_map(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->map_in_pmem = strcmp(text, "pmem") == 0;
    if (request->map_in_pmem || strcmp(text, "dram") == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is not a place for the map of pages: use dram or pmem", text);
}

static int take_zone(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->zone = strcmp(text, "normal") == 0 ? HM_ZONE_NORMAL : HM_ZONE_MOVABLE;
    if (strcmp(text, hm_zone_name(request->zone)) == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is not a zone of memory: use movable or normal", text);
}

static int take_cluster(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    (void)error;
    request->cluster = text;
    return 0;
}

static int take_living(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    (void)error;
    request->living = text;
    return 0;
}

static int take_config(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    (void)error;
    request->config = text;
    return 0;
}

const struct hm_namespace_option hm_namespace_option[HM_NAMESPACE_OPTIONS] = {
    {"job", "ID", "the job whose namespaces are meant", take_job, CREATE, DESTROY},
    {"restart", "N", "how often Slurm has restarted the job", take_restart, CREATE, DESTROY},
    {"uid", "UID", "owner of the file systems' root folder; destroy: the user whose kept file systems are removed",
     take_uid, CREATE, DESTROY},
    {"size", "SIZE", "bytes on all sockets together: digits and K, M, G or T", take_size, CREATE, 0},
    {"sockets", "LIST",
     "where to take space, evenly: \"0,1\", local, remote or all; ram, provision: where the devices or regions are "
     "(default: all)",
     take_sockets, CREATE, RAM | PROVISION},
    {"ram", "SIZE", "provision: a devdax namespace of this size in each region, for ram online (default: none)",
     take_ram, 0, PROVISION},
    {"fs", "NAME", "ext4 or xfs (default: ext4)", take_fs, 0, CREATE},
    {"map", "dram|pmem", "where the map of pages is, 1.6% of the size (default: dram)", take_map, 0, CREATE},
    {"cluster", "NAME", "Slurm's cluster (default: for create that of hybridmem.conf, else any)", take_cluster, 0,
     OF_JOBS},
    {"zone", "movable|normal", "the kernel's zone for memory that comes online (default: movable)", take_zone, 0,
     RAM_ONLINE},
    {"patience", "SECONDS", "how long to wait for what is in use (default: 10)", take_patience, 0,
     CREATE | DESTROY | REAP | RAM_ONLINE | RAM_OFFLINE | PROVISION},
    {"limit", "SECONDS", "how long wipes may take; exit status 4 if they need longer (default: no limit)", take_limit,
     0, CREATE | DESTROY | REAP},
    {"detach", "SECONDS", "after this time, mounts in the job's own mount namespaces are detached (default: never)",
     take_detach, 0, DESTROY},
    {"living", "LIST|FILE",
     "living jobs, as 1234.0, and users whose kept file systems they use, as u1000; 1234.* is any run of the job, u* "
     "any user; or a /FILE with such a list",
     take_living, REAP, 0},
    {"config", "FILE", "instead of the installed hybridmem.conf", take_config, 0, OF_JOBS | CHECK | RAM | PROVISION},
};
