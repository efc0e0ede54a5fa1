/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bootid.h"
#include "base/files.h"
#include "base/path.h"
#include "table.h"

#define MOST (1u << 20)     /* the file has fewer bytes than this */
#define DRAFT "topology.%d" /* of the process with this pid */
#define HAS_MEMORY "/sys/devices/system/node/has_memory"

struct cache {
    char boot_id[40];
    struct hm_set has_memory; /* nodes with memory at the time of writing; check_content compares them with now */
    struct hm_topology topology;
};

static const struct hm_field cache_table[] = {
    HM_FIELD(cache, boot_id),
    HM_FIELD(cache, has_memory),
    HM_FIELD_GROUP_OF(cache, topology, hm_topology_table),
    {.name = NULL},
};

static const struct hm_fields cache_fields = {.title = "topology", .table = cache_table, .most = MOST};

static char *path_of(const char *run_dir, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/topology", run_dir);
    return path;
}

/* Fill in the state of the machine now: the boot and the nodes with memory. A kernel without NUMA has no such list; the
 * set is then always empty. */
static int fill_state(struct cache *cache, struct hm_error *error)
{
    char line[4096];

    if (!hm_boot_id(cache->boot_id, sizeof(cache->boot_id))[0])
        return hm_fail(error, ENOENT, HM_BOOT_ID_FILE " cannot be read: is /proc mounted?");
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

/*
 * Remove drafts that killed processes have left. To remove one can take for ever where a user has mounted a file system
 * on it (core/tiers/boot.c). So this is done last, when the new file is in its place.
 */
static void remove_drafts(const char *run_dir)
{
    int pid;
    char rest;
    struct dirent *item;
    DIR *names = opendir(run_dir);
    while (names && (item = readdir(names)))
        if (sscanf(item->d_name, DRAFT "%c", &pid, &rest) == 1 && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH)
            (void)unlinkat(dirfd(names), item->d_name, 0);
    if (names)
        closedir(names);
}

/* Write a draft and rename it, so that the file is whole at any moment. The draft's name says which process writes it.
 * Returns 0 or -1. */
static int store(const char *run_dir, const char *path, const char *text, size_t length)
{
    char draft[PATH_MAX];
    if ((size_t)snprintf(draft, sizeof(draft), "%s/" DRAFT, run_dir, (int)getpid()) >= sizeof(draft)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    int result = write_all(fd, text, length) == 0 && fchmod(fd, 0644) == 0 && rename(draft, path) == 0 ? 0 : -1;
    int number = errno;
    if (result != 0)
        unlink(draft);
    close(fd);
    if (result == 0)
        remove_drafts(run_dir);
    errno = number;
    return result;
}

int hm_topologycache_write(const char *run_dir, const struct hm_topology *topology, struct hm_error *error)
{
    char path[PATH_MAX];
    struct hm_error why = {0};
    ssize_t length = -1;
    int result = -1;
    struct cache *cache = calloc(1, sizeof(*cache));
    char *text = malloc(MOST);
    path_of(run_dir, path);
    if (!cache || !text) {
        hm_fail(error, ENOMEM, "topology cache %s: no memory", path);
        goto done;
    }
    cache->topology = *topology;
    if (fill_state(cache, error) < 0)
        goto done;
    if (hm_fields_check(cache_table, cache, &why) == 0)
        length = hm_fields_format(&cache_fields, cache, NULL, text, &why);
    if (length < 0)
        hm_fail(error, errno, "topology cache %s: %s", path, why.text);
    else if (store(run_dir, path, text, (size_t)length) != 0)
        hm_fail_errno(error, "topology cache %s", path);
    else
        result = 0;
done:;
    int number = errno;
    free(text);
    free(cache);
    errno = number;
    return result;
}

/* Check what the checks of single fields cannot: nodes have ascending numbers and are on sockets that exist. */
static bool is_sound(const struct hm_topology *topology)
{
    for (int i = 0; i < topology->n_nodes; i++) {
        int before = i > 0 ? topology->node[i - 1].id : -1;
        if (topology->node[i].id <= before || topology->node[i].socket >= topology->n_sockets)
            return false;
    }
    return true;
}

/* Root checks the whole path. Other users open the file, but follow no link in its place. */
static int open_cache(const char *path, struct hm_error *error)
{
    if (geteuid() == 0)
        return hm_path_open(path, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? hm_fail_errno(error, "topology cache %s", path) : fd;
}

/* Check owner, mode and size before the content is read. */
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
    if (status.st_size >= (off_t)MOST)
        return hm_fail(error, EBADMSG, "topology cache %s has %lld bytes: it should have fewer than %u", path,
                       (long long)status.st_size, MOST);
    return 0;
}

/* With `may_be_older`, more nodes may have memory now than the cache knows. */
static int check_content(const struct cache *cache, const struct cache *now, bool may_be_older, const char *path,
                         struct hm_error *error)
{
    if (strcmp(cache->boot_id, now->boot_id) != 0)
        return hm_fail(error, ESTALE, "topology cache %s is of another boot", path);
    if (may_be_older ? !hm_set_within(&cache->has_memory, &now->has_memory)
                     : !hm_set_equal(&cache->has_memory, &now->has_memory))
        return hm_fail(error, ESTALE, "topology cache %s was written when other nodes had memory", path);
    if (!is_sound(&cache->topology))
        return hm_fail(error, EBADMSG, "topology cache %s has values out of range", path);
    return 0;
}

/* Parse and check. Returns 0 or -1. A '\0' in the file ends the text, and hm_fields_parse refuses a text without its
 * last line. */
static int take(char *text, struct cache *cache, bool may_be_older, const char *path, struct hm_error *error)
{
    struct hm_error why = {0};
    struct cache *now = calloc(1, sizeof(*now));
    int result = -1;
    if (!now)
        hm_fail(error, ENOMEM, "topology cache %s: no memory", path);
    else if (hm_fields_parse(&cache_fields, text, cache, &why) != 0)
        hm_fail(error, EBADMSG, "topology cache %s: %s", path, why.text);
    else if (fill_state(now, error) == 0)
        result = check_content(cache, now, may_be_older, path, error);
    int number = errno;
    free(now);
    errno = number;
    return result;
}

static int read_cache(const char *run_dir, bool may_be_older, struct hm_topology *topology, struct hm_error *error)
{
    char path[PATH_MAX], *text = NULL;
    struct cache *cache = NULL;
    size_t length;
    int result = -1;
    int fd = open_cache(path_of(run_dir, path), error);

    if (fd < 0)
        return -1;
    if (check_file(fd, path, error) < 0)
        goto done;
    cache = calloc(1, sizeof(*cache));
    text = cache ? hm_file_read_whole(fd, MOST - 1, &length) : NULL;
    if (!text) {
        hm_fail_errno(error, "topology cache %s", path);
        goto done;
    }
    if (take(text, cache, may_be_older, path, error) != 0)
        goto done;
    *topology = cache->topology;
    /* What was free when the cache was written says nothing about now. */
    topology->has_free = false;
    for (int i = 0; i < topology->n_nodes; i++)
        topology->node[i].free_bytes = 0;
    result = 0;
done:;
    int number = errno;
    close(fd);
    free(text);
    free(cache);
    errno = number;
    return result;
}

int hm_topologycache_read(const char *run_dir, struct hm_topology *topology, struct hm_error *error)
{
    return read_cache(run_dir, false, topology, error);
}

int hm_topologycache_read_older(const char *run_dir, struct hm_topology *topology, struct hm_error *error)
{
    return read_cache(run_dir, true, topology, error);
}
