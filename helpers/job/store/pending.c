/* SPDX-License-Identifier: Apache-2.0 */
#include "pending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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
#define BROKEN ".broken" /* behind the name of a record that cannot be read */

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

/* Reads the one line of a pending file, without its newline. The caller frees it. Returns NULL with a text: EBADMSG
 * where it is no such file. */
static char *read_line(int folder, const char *name, struct hm_error *error)
{
    size_t size = 0;
    char *line = NULL;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        line = hm_file_read_whole(fd, RECORD_MAX, &size);
        int number = errno;
        close(fd);
        errno = number;
    }
    if (!line && errno != ELOOP && errno != EINVAL && errno != ENXIO && errno != E2BIG) {
        hm_fail_errno(error, "pending/%s cannot be read", name);
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

/* Gives a broken record a name that is not a record's: nobody tries it again, and who looks after the node finds it.
 * Returns 0 or -1. */
static int set_aside(int folder, const char *name, const char *why, void (*tell)(const char *line))
{
    char aside[NAME_LENGTH + sizeof(BROKEN)], line[HM_ERROR_TEXT + 3 * NAME_LENGTH];
    snprintf(aside, sizeof(aside), "%s" BROKEN, name);
    int result = renameat2(folder, name, folder, aside, RENAME_NOREPLACE);
    if (result == 0)
        snprintf(line, sizeof(line), "%s: it is set aside as pending/%s", why, aside);
    else
        snprintf(line, sizeof(line), "%s: it cannot be set aside as pending/%s: %s", why, aside, strerror(errno));
    tell(line);
    return result;
}

/* What became of a record: the last two leave it where it is. REFUSED: the others of its file would be, too. */
enum tried { APPENDED, SET_ASIDE, FAILED, REFUSED };

static enum tried retry_one(const struct hm_config *config, int folder, const char *name,
                            void (*tell)(const char *line), struct hm_error *error)
{
    struct hm_store_key key;
    struct hm_error why = {{0}};
    char node[HM_STORE_NODE];
    enum tried tried = APPENDED;
    (void)hm_pending_parse(name, &key, node, sizeof(node));
    char *line = read_line(folder, name, &why);
    if (!line) {
        if (errno == EBADMSG && set_aside(folder, name, why.text, tell) == 0)
            return SET_ASIDE;
        hm_fail(error, EIO, "%s", why.text);
        return FAILED;
    }
    key.way = HM_STORE_AGAIN; /* appended perhaps by a process that was killed before it could remove the file */
    if (hm_store_append(config, &key, line, error) != 0) {
        tried = REFUSED;
    } else if (unlinkat(folder, name, 0) != 0) {
        hm_fail_errno(error, "pending/%s cannot be removed", name);
        tried = FAILED;
    }
    free(line);
    return tried;
}

static void drop_if_stale(int folder, const char *name)
{
    struct stat status;
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && hm_clock_ms(CLOCK_REALTIME) / 1000 - status.st_mtime > STALE_SECONDS)
        unlinkat(folder, name, 0);
}

/* A record, and since when it waits: the time of its file, which a failure sets anew. */
struct waiting {
    const char *name;
    struct timespec since;
};

static int compare(const void *one, const void *other)
{
    const struct waiting *a = one, *b = other;
    if (a->since.tv_sec != b->since.tv_sec)
        return a->since.tv_sec < b->since.tv_sec ? -1 : 1;
    if (a->since.tv_nsec != b->since.tv_nsec)
        return a->since.tv_nsec < b->since.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Fills `waiting` with the records of the list, in the order in which they are tried. Returns how many there are. */
static int find_records(const struct hm_config *config, int folder, struct dirent *const *list, int n,
                        struct waiting *waiting, void (*tell)(const char *line))
{
    struct hm_store_key key;
    struct stat status;
    char node[HM_STORE_NODE], line[HM_CONFIG_PATH_MAX + NAME_MAX + 80];
    const char *foreign = NULL;
    int found = 0, n_foreign = 0;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (name[0] == '.')
            drop_if_stale(folder, name);
        else if (hm_pending_parse(name, &key, node, sizeof(node)) != 0)
            foreign = n_foreign++ > 0 ? foreign : name;
        else if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            waiting[found++] = (struct waiting){name, status.st_mtim};
    }
    if (foreign) {
        snprintf(line, sizeof(line), "%s/pending has %d files that are no records, as %s: move them away",
                 config->state_dir, n_foreign, foreign);
        tell(line);
    }
    qsort(waiting, (size_t)found, sizeof(*waiting), compare);
    return found;
}

/* The file that a record is appended to. */
struct target {
    char day[11], node[HM_STORE_NODE];
};

static void find_target(const char *name, struct target *target)
{
    struct hm_store_key key = {.end_ns = 0};
    (void)hm_pending_parse(name, &key, target->node, sizeof(target->node));
    hm_store_day(key.end_ns, target->day);
}

static bool is_among(const struct target *target, int n, const char *name)
{
    struct target own;
    find_target(name, &own);
    for (int i = 0; i < n; i++)
        if (strcmp(target[i].day, own.day) == 0 && strcmp(target[i].node, own.node) == 0)
            return true;
    return false;
}

/*
 * Tries the records in their order. One that fails is tried last from now on, and the others of its day are left for
 * the next pass: so those that can never be appended hold up no record of another day. Returns how many were appended,
 * or -1 if one failed and none was.
 */
static int retry_records(const struct hm_config *config, int folder, const struct waiting *waiting, int n,
                         void (*tell)(const char *line), struct hm_error *error)
{
    const int64_t end_ms = hm_clock_ms(CLOCK_MONOTONIC) + PASS_MS;
    struct target refused[HM_STORE_PASS];
    int done = 0, failed = 0, n_refused = 0;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    if (n > 0)
        times[1] = waiting[n - 1].since;
    for (int i = 0; i < n && done + failed < HM_STORE_PASS && hm_clock_ms(CLOCK_MONOTONIC) < end_ms; i++) {
        if (is_among(refused, n_refused, waiting[i].name))
            continue;
        enum tried tried = retry_one(config, folder, waiting[i].name, tell, error);
        done += tried == APPENDED;
        if (tried == APPENDED || tried == SET_ASIDE)
            continue;
        failed++;
        if (tried == REFUSED)
            find_target(waiting[i].name, &refused[n_refused++]);
        times[1].tv_sec++; /* not the clock's time: it may have been set back */
        (void)utimensat(folder, waiting[i].name, times, AT_SYMLINK_NOFOLLOW);
    }
    return done > 0 || failed == 0 ? done : -1;
}

int hm_store_retry(const struct hm_config *config, void (*tell)(const char *line), struct hm_error *error)
{
    struct hm_error why = {{0}};
    struct dirent **list = NULL;
    int result = -1;
    int folder = open_pending(config, false, &why);
    if (folder < 0)
        return errno == ENOENT ? 0 : hm_fail(error, errno, "%s", why.text);
    /* If another process holds the lock, it does this work. */
    if (hm_flock_try(folder) != 0) {
        close(folder);
        return 0;
    }
    int n = scandirat(folder, ".", &list, NULL, NULL);
    struct waiting *waiting = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*waiting));
    if (waiting)
        result =
            retry_records(config, folder, waiting, find_records(config, folder, list, n, waiting, tell), tell, error);
    else
        hm_fail(error, EIO, "%s/pending cannot be listed", config->state_dir);
    free(waiting);
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    hm_flock_close(folder);
    return result;
}
