/* SPDX-License-Identifier: Apache-2.0 */
#include "append.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/flock.h"

#define LINE_MOST ((1 << 20) + 2) /* bytes of a line; a user can make longer ones in their own file */
#define LOCK_PATIENCE_MS 5000

/*
 * Opens `name` in the folder without following a link. In a user's folder it does not enter what is mounted there,
 * either: the kernel looks at the mount before it asks the mounted file system for anything. Kernels before 5.6 cannot
 * do that: there, every call for a user's folder fails with ENOSYS.
 */
static int open_in(int folder, const char *name, int flags, const struct hm_rights *rights)
{
    const unsigned mode = flags & O_CREAT ? 0600 : 0;
    flags |= O_NOFOLLOW | O_CLOEXEC;
    if (!rights || !rights->is_users)
        return openat(folder, name, flags, mode);
    const struct open_how how = {
        .flags = (unsigned)flags, .mode = mode, .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
    return (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
}

/* Sets owner, group and mode of a folder that this process has just made, or that another left without them
 * (is_unfinished). */
static int finish_folder(int fd, const char *name, const struct hm_rights *rights, struct stat *status,
                         struct hm_error *error)
{
    if (fchown(fd, rights->uid, rights->gid) != 0 || fchmod(fd, rights->mode) != 0 || fstat(fd, status) != 0)
        return hm_fail_errno(error, "folder %s cannot be given its owner %u and mode %04o", name, rights->uid,
                             rights->mode);
    return 0;
}

/* Has a crash, or a process that did not know the readers' group, left our folder without its owner, its group or its
 * mode? Or can users list it, as in earlier versions (HM_FOLDER_PASS)? */
static bool is_unfinished(const struct stat *status, const struct hm_rights *rights)
{
    return status->st_uid == geteuid() &&
           (status->st_uid != rights->uid || (status->st_gid == getegid() && status->st_gid != rights->gid) ||
            ((status->st_mode & 07777) == HM_FOLDER_NEW && rights->mode != HM_FOLDER_NEW) ||
            (status->st_mode & S_IROTH & ~rights->mode) != 0);
}

int hm_folder_open(int parent, const char *name, const struct hm_rights *rights, struct hm_error *error)
{
    struct stat status;
    uid_t owner = rights ? rights->uid : geteuid();
    bool made = false;
    int fd = open_in(parent, name, O_RDONLY | O_DIRECTORY, rights);
    if (fd < 0 && errno == ENOENT && rights) {
        made = mkdirat(parent, name, HM_FOLDER_NEW) == 0;
        if (!made && errno != EEXIST)
            return hm_fail_errno(error, "folder %s cannot be made", name);
        fd = open_in(parent, name, O_RDONLY | O_DIRECTORY, rights);
    }
    if (fd < 0)
        return hm_fail_errno(error, "folder %s", name);
    if (fstat(fd, &status) != 0) {
        hm_fail_errno(error, "folder %s", name);
        goto failed;
    }
    if (rights && (made || is_unfinished(&status, rights)) && finish_folder(fd, name, rights, &status, error) != 0)
        goto failed;
    if (status.st_uid != owner || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        hm_fail(error, EPERM,
                "folder %s must belong to user %u and be writable by nobody else (it has user %u, mode %04o)", name,
                owner, status.st_uid, status.st_mode & 07777u);
        goto failed;
    }
    return fd;
failed:
    close(fd);
    return -1;
}

/* Checks, with its lock held, that the file is a regular one with one name and belongs to rights->uid. Sets its group
 * and mode. */
static int check_file(int fd, const char *name, const struct hm_rights *rights, struct stat *status,
                      struct hm_error *error)
{
    if (fstat(fd, status) != 0)
        return hm_fail_errno(error, "%s", name);
    if (!S_ISREG(status->st_mode) || status->st_nlink != 1 || status->st_uid != rights->uid)
        return hm_fail(error, EPERM, "%s must be a regular file with one name that belongs to user %u", name,
                       rights->uid);
    if (status->st_gid != rights->gid && fchown(fd, (uid_t)-1, rights->gid) != 0)
        return hm_fail_errno(error, "%s cannot be given to group %u", name, rights->gid);
    if ((status->st_mode & 07777) != rights->mode && fchmod(fd, rights->mode) != 0)
        return hm_fail_errno(error, "%s cannot be given the mode %04o", name, rights->mode);
    return 0;
}

/*
 * Appends the line to a file of `size` bytes. If a crash cut the last line short, that line is ended first, so that it
 * does not spoil ours.
 */
static int write_line(int fd, const char *name, off_t size, const char *line, struct hm_error *error)
{
    char last = '\n';
    size_t length = strlen(line), used = 0;
    if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
        return hm_fail_errno(error, "%s cannot be read", name);
    char *text = malloc(length + 2);
    if (!text)
        return hm_fail(error, ENOMEM, "%s: no memory for a line of %zu bytes", name, length);
    if (last != '\n')
        text[used++] = '\n';
    memcpy(text + used, line, length);
    used += length;
    text[used++] = '\n';
    ssize_t written = write(fd, text, used);
    free(text);
    /* Some file systems report only at fsync that there is no space. */
    if (written == (ssize_t)used && fsync(fd) == 0)
        return 0;
    int number = written >= 0 && written < (ssize_t)used ? ENOSPC : errno;
    if (ftruncate(fd, size) != 0)
        return hm_fail_errno(error, "%s: a line that was cut short could not be taken back", name);
    return hm_fail(error, number, "%s: %s", name, strerror(number));
}

/* Is the line a whole object of JSON? In one that a crash cut short, the first brace is not closed. */
static bool is_whole(const char *line)
{
    int depth = 0;
    bool in_text = false;
    for (; *line; line++) {
        if (*line == '\\' && line[1])
            line++;
        else if (*line == '"')
            in_text = !in_text;
        else if (!in_text && (*line == '{' || *line == '}'))
            depth += *line == '{' ? 1 : -1;
    }
    return depth == 0;
}

/* Has the file a whole line that begins as `line` does? Returns 1, 0, or -1. */
static int find_line(int fd, const char *name, const char *line, size_t n_same, struct hm_error *error)
{
    char *text = malloc(LINE_MOST);
    bool is_found = false;
    int again = text ? dup(fd) : -1;
    FILE *file = again < 0 ? NULL : fdopen(again, "r");
    if (file) {
        rewind(file);
        while (!is_found && fgets(text, LINE_MOST, file))
            is_found = strncmp(text, line, n_same) == 0 && is_whole(text);
    }
    int result = is_found ? 1 : file && feof(file) ? 0 : hm_fail_errno(error, "%s cannot be read", name);
    free(text);
    if (file)
        fclose(file);
    else if (again >= 0)
        close(again);
    return result;
}

/* Does the file system know no locks, as Lustre mounted without -o flock? A line is one write, which appends as a
 * whole.
 */
static bool has_no_locks(int number)
{
    return number == ENOSYS || number == EOPNOTSUPP || number == ENOLCK;
}

int hm_line_append(int folder, const char *name, const struct hm_rights *rights, const char *line, size_t n_same,
                   struct hm_error *error)
{
    struct stat status;
    int result = -1;
    int fd = open_in(folder, name, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, rights);
    if (fd < 0)
        return hm_fail_errno(error, "%s cannot be opened for appending", name);
    if (hm_flock_wait(fd, LOCK_PATIENCE_MS) != 0 && !has_no_locks(errno)) {
        hm_fail_errno(error, "%s cannot be locked", name);
        goto done;
    }
    if (check_file(fd, name, rights, &status, error) != 0)
        goto done;
    int found = n_same > 0 ? find_line(fd, name, line, n_same, error) : 0;
    result = found == 0 ? write_line(fd, name, status.st_size, line, error) : found > 0 ? 0 : -1;
done:
    hm_flock_close(fd);
    return result;
}
