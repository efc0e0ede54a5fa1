/* SPDX-License-Identifier: Apache-2.0 */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Check one part of a path. `shown` is the path up to this part, for errors. */
static int check_part(int fd, const char *shown, uid_t owner, bool is_folder, struct hm_error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return hm_fail_errno(error, "%.200s", shown);
    if (S_ISLNK(status.st_mode))
        return hm_fail(error, EPERM, "%.200s is a symbolic link: give the path without it", shown);
    if (is_folder && !S_ISDIR(status.st_mode))
        return hm_fail(error, ENOTDIR, "%.200s is not a folder", shown);
    if (!is_folder && !S_ISREG(status.st_mode))
        return hm_fail(error, EPERM, "%.200s is not a regular file", shown);
    if (status.st_uid != 0 && status.st_uid != owner) {
        char other[24] = "";
        if (owner != 0)
            snprintf(other, sizeof(other), " or user %u", (unsigned)owner);
        return hm_fail(error, EPERM, "%.200s belongs to user %u: it must belong to root%s, or it is not trusted", shown,
                       (unsigned)status.st_uid, other);
    }
    /* In a folder with the sticky bit (/tmp) users cannot replace files of others, and the owner of each part is
     * checked. */
    bool is_sticky_folder = is_folder && (status.st_mode & S_ISVTX);
    if (status.st_mode & (S_IWGRP | S_IWOTH) && !is_sticky_folder)
        return hm_fail(error, EPERM, "%.200s has mode %04o: others may write it; take that away with chmod go-w", shown,
                       (unsigned)status.st_mode & 07777);
    return 0;
}

/* Open one part of the path below `folder` without following a link, and check it. */
static int open_part(int folder, const char *name, const char *shown, uid_t owner, bool is_folder,
                     struct hm_error *error)
{
    /* First look with O_PATH: opening a device or a FIFO can have effects, and a link gets an error text of its own. */
    int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hm_fail_errno(error, "%.200s", shown);
    int status = check_part(fd, shown, owner, is_folder, error);
    if (status == 0 && !is_folder) {
        int file = openat(folder, name, READ_FLAGS | O_NOFOLLOW);
        if (file < 0)
            status = hm_fail_errno(error, "%.200s", shown);
        close(fd);
        fd = file;
        if (fd >= 0)
            status = check_part(fd, shown, owner, false, error);
    }
    if (status < 0 && fd >= 0) {
        int number = errno;
        close(fd);
        fd = -1;
        errno = number;
    }
    return fd;
}

int hm_path_open_below(int base, const char *path, uid_t owner, struct hm_error *error)
{
    char shown[PATH_MAX] = "";
    int folder = -1;
    const char *part = path;
    if (strlen(path) >= sizeof(shown))
        return hm_fail(error, ENAMETOOLONG, "%.100s...: the path is too long", path);
    for (;;) {
        part += strspn(part, "/");
        size_t length = strcspn(part, "/");
        bool is_folder = part[length] == '/';
        char name[NAME_MAX + 1];
        int next = -1;
        snprintf(shown, sizeof(shown), "%.*s", (int)(part + length - path), path);
        if (length >= sizeof(name)) {
            hm_fail(error, ENAMETOOLONG, "%.100s...: a name in the path has more than %d bytes", path, NAME_MAX);
        } else if (length == 0 || strncmp(part, "..", length) == 0) {
            hm_fail(error, EPERM, "%.200s: write the path without . and .., and end it with a file's name", path);
        } else {
            snprintf(name, sizeof(name), "%.*s", (int)length, part);
            next = open_part(folder < 0 ? base : folder, name, shown, owner, is_folder, error);
        }
        int number = errno;
        if (folder >= 0)
            close(folder);
        errno = number;
        folder = next;
        if (folder < 0 || !is_folder)
            return folder;
        part += length;
    }
}

int hm_path_open(const char *path, struct hm_error *error)
{
    int fd;
    if (geteuid() == 0) {
        if (path[0] != '/')
            return hm_fail(
                error, EPERM,
                "\"%.200s\": root takes no path that depends on the current folder: write the whole one, from / on",
                path);
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
            return hm_fail_errno(error, "/");
        fd = check_part(root, "/", 0, true, error) < 0 ? -1 : hm_path_open_below(root, path, 0, error);
        int number = errno;
        close(root);
        errno = number;
        return fd;
    }
    struct stat status;
    fd = open(path, READ_FLAGS);
    if (fd < 0)
        return hm_fail_errno(error, "%.200s", path);
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return hm_fail(error, EINVAL, "%.200s is not a regular file", path);
    }
    return fd;
}
