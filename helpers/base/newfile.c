/* SPDX-License-Identifier: Apache-2.0 */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40 /* as the kernel follows */

/*
 * May what is at the path's end, a link or a file, be somebody's trap? In a sticky folder that others can write to,
 * such as /tmp, it may unless it is the caller's or the folder owner's. There open(2) with O_CREAT refuses it, by the
 * default of fs.protected_symlinks and fs.protected_regular; what is renamed into its place is not looked at.
 */
static bool is_trap(const char *path, const struct stat *status)
{
    struct stat folder;
    char *copy = strdup(path);
    bool is_shared = !copy || stat(dirname(copy), &folder) != 0 ||
                     ((folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH) && status->st_uid != folder.st_uid);
    free(copy);
    return is_shared && status->st_uid != geteuid();
}

/* Puts the target of the link `fd` in the place of *path. Returns 0 or -1. */
static int follow(int fd, char **path)
{
    char target[PATH_MAX], *next = NULL, *copy = strdup(*path);
    ssize_t length = copy ? readlinkat(fd, "", target, sizeof(target) - 1) : -1;
    if (length < 0)
        goto done;
    target[length] = '\0';
    if (target[0] == '/')
        next = strdup(target);
    else if (asprintf(&next, "%s/%s", dirname(copy), target) < 0)
        next = NULL;
done:
    free(copy);
    if (!next)
        return -1;
    free(*path);
    *path = next;
    return 0;
}

/*
 * Follows the links at the path's end, also to a file that is missing. Each is opened before it is looked at, so that
 * nobody can exchange it in between. Returns 0, also where there is no file; `status` has no mode then. Or -1.
 */
static int find_end(char **path, struct stat *status)
{
    for (int i = 0; i < MOST_LINKS; i++) {
        int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
            *status = (struct stat){.st_mode = 0};
            return errno == ENOENT ? 0 : -1;
        }
        bool is_looked_at = fstat(fd, status) == 0;
        bool is_refused = is_looked_at && is_trap(*path, status);
        bool is_link = is_looked_at && S_ISLNK(status->st_mode);
        int result = !is_looked_at || is_refused || (is_link && follow(fd, path) != 0) ? -1 : 0;
        int number = is_refused ? EACCES : errno;
        close(fd);
        errno = number;
        if (result != 0 || !is_link)
            return result;
    }
    errno = ELOOP;
    return -1;
}

static int fail_kind(const char *path, const char *example, struct hm_error *error)
{
    return hm_fail(error, EINVAL, "%s: it is no regular file: name one, as in %s", path, example);
}

/* Follows links, and finds out whose the file is, and its mode. Returns 0, or -1 with a text. */
static int find_place(struct hm_newfile *file, const char *path, const char *example, struct hm_error *error)
{
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    file->mode = 0666 & ~mask;
    file->uid = geteuid();
    file->gid = getegid();
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) /* also what only a link in /proc names, such as a pipe */
        return fail_kind(path, example, error);
    file->path = strdup(path);
    if (!file->path || find_end(&file->path, &status) != 0)
        return hm_fail_errno(error, "%s", path);
    if (status.st_mode == 0)
        return 0;
    if (!S_ISREG(status.st_mode))
        return fail_kind(path, example, error);
    if (access(file->path, W_OK) != 0) /* what has gone meanwhile is missing */
        return errno == ENOENT ? 0 : hm_fail_errno(error, "%s", path);
    file->mode = status.st_mode & 0777;
    if (geteuid() == 0) {
        file->uid = status.st_uid;
        file->gid = status.st_gid;
    }
    return 0;
}

int hm_newfile_open(struct hm_newfile *file, const char *path, const char *example, struct hm_error *error)
{
    *file = (struct hm_newfile){.fd = -1};
    if (find_place(file, path, example, error) != 0)
        return -1;
    if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
        file->temporary = NULL;
        return hm_fail(error, ENOMEM, "%s: out of memory", path);
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd >= 0)
        return 0;
    int number = errno;
    free(file->temporary);
    file->temporary = NULL;
    errno = number;
    return hm_fail_errno(error, "%s", path);
}

int hm_newfile_place(struct hm_newfile *file)
{
    bool is_anothers = file->uid != geteuid() || file->gid != getegid();
    if ((is_anothers && fchown(file->fd, file->uid, file->gid) != 0) || fchmod(file->fd, file->mode) != 0 ||
        fsync(file->fd) != 0 || rename(file->temporary, file->path) != 0)
        return -1;
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

void hm_newfile_close(struct hm_newfile *file)
{
    if (file->temporary)
        unlink(file->temporary);
    if (file->fd >= 0)
        close(file->fd);
    free(file->temporary);
    free(file->path);
    *file = (struct hm_newfile){.fd = -1};
}
