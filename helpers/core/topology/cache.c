/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/path.h"

#define MAGIC 0x484d5431u /* "HMT1" */
#define VERSION 2
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define HAS_MEMORY "/sys/devices/system/node/has_memory"

/* The file. Its size is the compiler's for this layout: another build's file has another version or size, and is not
 * read. */
struct cache {
    uint32_t magic, version, bytes, reserved;
    char boot_id[40];
    struct hm_set has_memory; /* nodes with memory when it was written: one onlined or offlined since makes it stale */
    struct hm_topology topology;
};

/* What the machine is now: boot and nodes. A kernel without NUMA has no list: the empty set, then as now. */
static int fill_state(struct cache *cache, struct hm_error *error)
{
    char line[4096];

    if (hm_file_read_line(BOOT_ID, cache->boot_id, sizeof(cache->boot_id)) != 0 || !cache->boot_id[0])
        return hm_fail(error, ENOENT, "%s cannot be read: is /proc mounted?", BOOT_ID);
    (void)hm_file_read_line(HAS_MEMORY, line, sizeof(line));
    return hm_set_parse(&cache->has_memory, line, error);
}

static int write_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        at += written;
        size -= (size_t)written;
    }
    return 0;
}

int hm_tierscache_write(const char *path, const struct hm_topology *topology, struct hm_error *error)
{
    char temporary[4096];
    struct cache *cache = NULL;
    int fd = -1, result = -1;
    int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);

    if (length < 0 || (size_t)length >= sizeof(temporary))
        return hm_fail(error, ENAMETOOLONG, "the path of the topology cache is too long");
    cache = calloc(1, sizeof(*cache));
    if (!cache)
        return hm_fail_errno(error, "topology cache %s", path);
    cache->magic = MAGIC;
    cache->version = VERSION;
    cache->bytes = sizeof(*cache);
    cache->topology = *topology;
    if (fill_state(cache, error) < 0)
        goto done;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        hm_fail_errno(error, "topology cache %s", path);
        goto done;
    }
    if (write_all(fd, cache, sizeof(*cache)) < 0 || fchmod(fd, 0644) < 0 || rename(temporary, path) < 0) {
        hm_fail_errno(error, "topology cache %s", path);
        unlink(temporary);
        goto done;
    }
    result = 0;
done:;
    int number = errno;
    if (fd >= 0)
        close(fd);
    free(cache);
    errno = number;
    return result;
}

static bool is_kind(enum hm_kind kind)
{
    return (unsigned)kind <= HM_KIND_HBM;
}

static bool is_origin(enum hm_origin origin)
{
    return (unsigned)origin <= HM_ORIGIN_HWLOC;
}

/* A byte of the file that is neither 0 nor 1 is no bool, and reading it as one is undefined. */
static bool is_bool(const bool *flag)
{
    return *(const unsigned char *)flag <= 1;
}

/* Everything that is used as an index, a flag or a table's row later on. */
static bool is_sound(const struct hm_topology *topology)
{
    if (topology->n_nodes < 0 || topology->n_nodes > HM_MAX_NODES || topology->n_sockets < 0 ||
        topology->n_sockets > HM_MAX_SOCKETS)
        return false;
    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_node *node = &topology->node[i];
        int before = i > 0 ? topology->node[i - 1].id : -1;
        if (node->id <= before || node->id >= HM_SET_BITS || node->socket < -1 || node->socket >= topology->n_sockets ||
            node->sysfs_tier < -1 || !is_bool(&node->has_cpus) || !is_bool(&node->allowed) ||
            !is_bool(&node->is_device) || !is_bool(&node->movable_only) || !is_kind(node->kind) ||
            !is_origin(node->kind_origin) || !is_origin(node->read_latency_ns.origin) ||
            !is_origin(node->write_latency_ns.origin) || !is_origin(node->read_bandwidth_mbs.origin) ||
            !is_origin(node->write_bandwidth_mbs.origin))
            return false;
    }
    return true;
}

/* Root trusts the whole path; anybody else takes the file itself, and no link in its place. */
static int open_cache(const char *path, struct hm_error *error)
{
    if (geteuid() == 0)
        return hm_path_open(path, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? hm_fail_errno(error, "topology cache %s", path) : fd;
}

/* Owner, mode and size before anything of it is read. */
static int check_file(int fd, const char *path, struct hm_error *error)
{
    struct stat status;
    uid_t self = geteuid();

    if (fstat(fd, &status) < 0)
        return hm_fail_errno(error, "topology cache %s", path);
    if (!S_ISREG(status.st_mode))
        return hm_fail(error, EPERM, "topology cache %s is not a file", path);
    if (status.st_uid != 0 && status.st_uid != self)
        return hm_fail(error, EPERM, "topology cache %s belongs to user %u: it should be root's", path,
                       (unsigned)status.st_uid);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return hm_fail(error, EPERM, "topology cache %s has mode %04o: nobody but its owner should be able to write it",
                       path, (unsigned)(status.st_mode & 07777));
    if (status.st_size != (off_t)sizeof(struct cache))
        return hm_fail(error, EBADMSG, "topology cache %s has %lld bytes, not the %zu of this version", path,
                       (long long)status.st_size, sizeof(struct cache));
    return 0;
}

static int read_all(int fd, void *data, size_t size)
{
    for (char *at = data; size > 0;) {
        ssize_t got = read(fd, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? EBADMSG : errno;
            return -1;
        }
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

static int check_content(const struct cache *cache, const struct cache *now, const char *path, struct hm_error *error)
{
    if (cache->magic != MAGIC || cache->version != VERSION || cache->bytes != sizeof(*cache))
        return hm_fail(error, EBADMSG, "topology cache %s is of another version", path);
    if (memcmp(cache->boot_id, now->boot_id, sizeof(now->boot_id)) != 0)
        return hm_fail(error, ESTALE, "topology cache %s is of another boot", path);
    if (!hm_set_equal(&cache->has_memory, &now->has_memory))
        return hm_fail(error, ESTALE, "topology cache %s is older than the nodes that have memory now", path);
    if (!is_sound(&cache->topology))
        return hm_fail(error, EBADMSG, "topology cache %s has values out of range", path);
    return 0;
}

int hm_tierscache_read(const char *path, struct hm_topology *topology, struct hm_error *error)
{
    struct cache *cache = NULL, *now = NULL;
    int result = -1;
    int fd = open_cache(path, error);

    if (fd < 0)
        return -1;
    if (check_file(fd, path, error) < 0)
        goto done;
    cache = calloc(1, sizeof(*cache));
    now = calloc(1, sizeof(*now));
    if (!cache || !now) {
        hm_fail_errno(error, "topology cache %s", path);
        goto done;
    }
    if (read_all(fd, cache, sizeof(*cache)) < 0) {
        hm_fail_errno(error, "topology cache %s", path);
        goto done;
    }
    if (fill_state(now, error) < 0 || check_content(cache, now, path, error) < 0)
        goto done;
    *topology = cache->topology;
    /* What was free then says nothing of now. */
    topology->has_free = false;
    for (int i = 0; i < topology->n_nodes; i++)
        topology->node[i].free_bytes = 0;
    result = 0;
done:;
    int number = errno;
    close(fd);
    free(cache);
    free(now);
    errno = number;
    return result;
}
