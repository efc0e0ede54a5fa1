/* SPDX-License-Identifier: Apache-2.0 */
#include "pending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "append.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/flock.h"
#include "dayfile.h"

#define NAME_LENGTH 160
#define RECORD_MAX (1024 * 1024)
#define STALE_SECONDS 3600 /* an unfinished file this old was left by a crash */
#define PASS_MS 5000       /* one call begins no record after this time */
#define SUFFIX ".json"

/* The name is <end in ns, 19 digits>_<job>_<uid>_<gid>_<node>.json: sorted by name, records are sorted by time. */
static void format_name(const struct hm_store_key *key, char *name, size_t size)
{
    char node[HM_STORE_NODE];
    hm_store_node(key->node, node, sizeof(node));
    snprintf(name, size, "%019" PRId64 "_%u_%u_%u_%s" SUFFIX, key->end_ns > 0 ? key->end_ns : 0, key->job_id, key->uid,
             key->gid, node);
}

/* Reads digits up to the next "_". The number must be at most `most`. */
static int take_field(const char **text, uint64_t most, uint64_t *number)
{
    const char *at = *text;
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
            return -1;
    if (at == *text || *at != '_' || *number > most)
        return -1;
    *text = at + 1;
    return 0;
}

int hm_pending_parse(const char *name, struct hm_store_key *key, char *node, size_t size)
{
    char again[NAME_LENGTH];
    uint64_t end, job, uid, gid;
    const char *at = name;
    if (take_field(&at, INT64_MAX, &end) != 0 || take_field(&at, UINT32_MAX, &job) != 0 ||
        take_field(&at, UINT32_MAX, &uid) != 0 || take_field(&at, UINT32_MAX, &gid) != 0)
        return -1;
    size_t length = strlen(at);
    if (length <= strlen(SUFFIX) || length - strlen(SUFFIX) >= size)
        return -1;
    length -= strlen(SUFFIX);
    memcpy(node, at, length);
    node[length] = '\0';
    *key = (struct hm_store_key){
        .node = node, .job_id = (uint32_t)job, .uid = (uid_t)uid, .gid = (gid_t)gid, .end_ns = (int64_t)end};
    format_name(key, again, sizeof(again));
    return strcmp(again, name) == 0 ? 0 : -1;
}

static int open_pending(const struct hm_config *config, bool make, struct hm_error *error)
{
    const struct hm_rights state = {HM_FOLDER_PASS, geteuid(), getegid(), false},
                           pending = {0700, geteuid(), getegid(), false};
    int parent = hm_folder_open(AT_FDCWD, config->state_dir, make ? &state : NULL, error);
    if (parent < 0)
        return -1;
    int fd = hm_folder_open(parent, "pending", make ? &pending : NULL, error);
    int number = errno;
    close(parent);
    errno = number;
    return fd;
}

int hm_pending_keep(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                    struct hm_error *error)
{
    char name[NAME_LENGTH], unfinished[NAME_LENGTH + 1];
    const struct hm_rights rights = {0600, geteuid(), getegid(), false};
    int result = -1;
    int folder = open_pending(config, true, error);
    if (folder < 0)
        return -1;
    format_name(key, name, sizeof(name));
    snprintf(unfinished, sizeof(unfinished), ".%s", name);
    /* A process that was killed before its rename has left its line there: ours would be a second one. */
    unlinkat(folder, unfinished, 0);
    if (hm_line_append(folder, unfinished, &rights, line, 0, error) == 0) {
        /* The ledger's entry goes next: a crash after that must find the name. */
        bool is_there = renameat(folder, unfinished, folder, name) == 0 && fsync(folder) == 0;
        result = is_there ? 0 : hm_fail_errno(error, "pending/%s", name);
    }
    if (result != 0)
        unlinkat(folder, unfinished, 0);
    close(folder);
    return result;
}

/* Reads the one line of a pending file, without its newline. The caller frees it. Returns NULL with a text. */
static char *read_line(int folder, const char *name, struct hm_error *error)
{
    size_t size = 0;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        hm_fail_errno(error, "pending/%s", name);
        return NULL;
    }
    char *line = hm_file_read_whole(fd, RECORD_MAX, &size);
    close(fd);
    if (!line && errno == ENOMEM) {
        hm_fail(error, ENOMEM, "no memory for pending/%s", name);
        return NULL;
    }
    if (!line || size < 2 || memchr(line, '\n', size) != line + size - 1 || memchr(line, '\0', size)) {
        hm_fail(error, EBADMSG, "pending/%s is not one line of at most %d bytes", name, RECORD_MAX);
        free(line);
        return NULL;
    }
    line[size - 1] = '\0';
    return line;
}

/* Returns 0 or -1. Sets *stop if the records cannot be written, as the next ones would fail, too. */
static int retry_one(const struct hm_config *config, int folder, const char *name, bool *stop, struct hm_error *error)
{
    struct hm_store_key key;
    char node[HM_STORE_NODE];
    if (hm_pending_parse(name, &key, node, sizeof(node)) != 0)
        return hm_fail(error, EINVAL, "%s/pending/%s is not a record of ours: move it away", config->state_dir, name);
    char *line = read_line(folder, name, error);
    if (!line)
        return -1;
    key.way = HM_STORE_AGAIN; /* appended perhaps by a process that was killed before it could remove the file */
    int result = hm_store_append(config, &key, line, error);
    *stop = result != 0;
    if (result == 0 && unlinkat(folder, name, 0) != 0)
        result = hm_fail_errno(error, "pending/%s cannot be removed", name);
    free(line);
    return result;
}

static void drop_if_stale(int folder, const char *name)
{
    struct stat status;
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && hm_clock_ms(CLOCK_REALTIME) / 1000 - status.st_mtime > STALE_SECONDS)
        unlinkat(folder, name, 0);
}

/* Appends the records of the list, and frees the list's entries. Returns how many were appended, or -1. */
static int retry_list(const struct hm_config *config, int folder, struct dirent **list, int n, struct hm_error *error)
{
    const int64_t end_ms = hm_clock_ms(CLOCK_MONOTONIC) + PASS_MS;
    bool stop = false;
    int done = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        stop = stop || done == HM_STORE_PASS || hm_clock_ms(CLOCK_MONOTONIC) >= end_ms;
        if (list[i]->d_name[0] == '.')
            drop_if_stale(folder, list[i]->d_name);
        else if (!stop && retry_one(config, folder, list[i]->d_name, &stop, error) != 0)
            failed++;
        else if (!stop)
            done++;
        free(list[i]);
    }
    return failed ? -1 : done;
}

int hm_store_retry(const struct hm_config *config, struct hm_error *error)
{
    struct hm_error why = {{0}};
    struct dirent **list = NULL;
    int folder = open_pending(config, false, &why);
    if (folder < 0)
        return errno == ENOENT ? 0 : hm_fail(error, errno, "%s", why.text);
    /* If another process holds the lock, it does this work. */
    if (hm_flock_try(folder) != 0) {
        close(folder);
        return 0;
    }
    int n = scandirat(folder, ".", &list, NULL, alphasort);
    int result = n < 0 ? hm_fail(error, EIO, "%s/pending cannot be listed", config->state_dir)
                       : retry_list(config, folder, list, n, error);
    free(list);
    hm_flock_close(folder);
    return result;
}
