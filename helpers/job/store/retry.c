/* SPDX-License-Identifier: Apache-2.0 */
/* The pass that appends records which wait (store.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/flock.h"
#include "base/plural.h"
#include "dayfile.h"
#include "pending.h"

#define RECORD_MAX (1024 * 1024)
#define STALE_SECONDS 3600 /* an unfinished file this old was left by a crash */
#define PASS_MS 5000       /* one call begins no record after this time */
#define BROKEN ".broken"   /* behind the name of a record that cannot be read */

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
    char aside[HM_PENDING_NAME + sizeof(BROKEN)], line[HM_ERROR_TEXT + 3 * HM_PENDING_NAME];
    snprintf(aside, sizeof(aside), "%s" BROKEN, name);
    int result = renameat2(folder, name, folder, aside, RENAME_NOREPLACE);
    if (result == 0)
        snprintf(line, sizeof(line), "%s: it is set aside as pending/%s", why, aside);
    else
        snprintf(line, sizeof(line), "%s: it cannot be set aside as pending/%s: %s", why, aside, strerror(errno));
    tell(line);
    return result;
}

/* The work of one call in one pending/, which is open as `folder`. No record is begun after `end_ms`. */
struct pass {
    const struct hm_config *config;
    enum hm_pending_place place;
    int folder;
    int64_t end_ms;
    void (*tell)(const char *line);
    struct hm_error *error;
};

/* What became of a record: the last two leave it where it is. REFUSED: the others of its file would be, too. */
enum tried { APPENDED, MOVED, SET_ASIDE, FAILED, REFUSED };

/* A record in memory goes to the disk first, if that has room again: there it outlasts a reboot. */
static enum tried retry_one(const struct pass *pass, const char *name)
{
    struct hm_store_key key;
    struct hm_error why = {{0}};
    char node[HM_STORE_NODE];
    enum tried tried = APPENDED;
    (void)hm_pending_parse(name, &key, node, sizeof(node));
    char *line = read_line(pass->folder, name, &why);
    if (!line) {
        if (errno == EBADMSG && set_aside(pass->folder, name, why.text, pass->tell) == 0)
            return SET_ASIDE;
        hm_fail(pass->error, EIO, "%s", why.text);
        return FAILED;
    }
    key.way = HM_STORE_AGAIN; /* appended perhaps by a process that was killed before it could remove the file */
    if (pass->place == HM_PENDING_MEMORY && hm_pending_keep(pass->config, HM_PENDING_DISK, &key, line, NULL) == 0)
        tried = MOVED;
    else if (hm_store_append(pass->config, &key, line, pass->error) != 0)
        tried = REFUSED;
    if (tried != REFUSED && unlinkat(pass->folder, name, 0) != 0) {
        hm_fail_errno(pass->error, "pending/%s cannot be removed", name);
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
static int find_records(const struct pass *pass, struct dirent *const *list, int n, struct waiting *waiting)
{
    struct hm_store_key key;
    struct stat status;
    char node[HM_STORE_NODE], path[HM_PENDING_PATH], line[HM_PENDING_PATH + NAME_MAX + 80];
    const char *foreign = NULL;
    int found = 0, n_foreign = 0;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (name[0] == '.')
            drop_if_stale(pass->folder, name);
        else if (hm_pending_parse(name, &key, node, sizeof(node)) != 0)
            foreign = n_foreign++ > 0 ? foreign : name;
        else if (fstatat(pass->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            waiting[found++] = (struct waiting){name, status.st_mtim};
    }
    if (foreign) {
        snprintf(line, sizeof(line), "%s has %d %s, as %s: move %s away",
                 hm_pending_path(pass->config, pass->place, path), n_foreign,
                 hm_plural((uint64_t)n_foreign, "file that is no record", "files that are no records"), foreign,
                 hm_plural((uint64_t)n_foreign, "it", "them"));
        pass->tell(line);
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
static int retry_records(const struct pass *pass, const struct waiting *waiting, int n)
{
    struct target refused[HM_STORE_PASS];
    int count[REFUSED + 1] = {0}, n_tried = 0;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    if (n > 0)
        times[1] = waiting[n - 1].since;
    for (int i = 0; i < n && n_tried < HM_STORE_PASS && hm_clock_ms(CLOCK_MONOTONIC) < pass->end_ms; i++) {
        if (is_among(refused, count[REFUSED], waiting[i].name))
            continue;
        enum tried tried = retry_one(pass, waiting[i].name);
        if (tried == REFUSED)
            find_target(waiting[i].name, &refused[count[REFUSED]]);
        count[tried]++;
        n_tried += tried != SET_ASIDE;
        if (tried != FAILED && tried != REFUSED)
            continue;
        times[1].tv_sec++; /* not the clock's time: it may have been set back */
        (void)utimensat(pass->folder, waiting[i].name, times, AT_SYMLINK_NOFOLLOW);
    }
    return count[APPENDED] > 0 || count[FAILED] + count[REFUSED] == 0 ? count[APPENDED] : -1;
}

/* As hm_store_retry, for one place. */
static int retry_place(struct pass pass)
{
    struct hm_error why = {{0}};
    struct dirent **list = NULL;
    char path[HM_PENDING_PATH];
    int result = -1;
    pass.folder = hm_pending_open(pass.config, pass.place, false, &why);
    if (pass.folder < 0)
        return errno == ENOENT ? 0 : hm_fail(pass.error, errno, "%s", why.text);
    /* If another process holds the lock, it does this work. */
    if (hm_flock_try(pass.folder) != 0) {
        close(pass.folder);
        return 0;
    }
    int n = scandirat(pass.folder, ".", &list, NULL, NULL);
    struct waiting *waiting = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*waiting));
    if (waiting)
        result = retry_records(&pass, waiting, find_records(&pass, list, n, waiting));
    else
        hm_fail(pass.error, EIO, "%s cannot be listed", hm_pending_path(pass.config, pass.place, path));
    free(waiting);
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    hm_flock_close(pass.folder);
    return result;
}

int hm_store_retry(const struct hm_config *config, void (*tell)(const char *line), struct hm_error *error)
{
    struct pass pass = {config, HM_PENDING_MEMORY, .end_ms = hm_clock_ms(CLOCK_MONOTONIC) + PASS_MS, .tell = tell,
                        .error = error};
    if (!config->record_dir[0])
        return 0;
    int in_memory = retry_place(pass);
    pass.place = HM_PENDING_DISK;
    int on_disk = in_memory > 0 ? 0 : retry_place(pass);
    return on_disk != 0 ? on_disk : in_memory;
}
