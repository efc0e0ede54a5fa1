/* SPDX-License-Identifier: Apache-2.0 */
#include "spoolfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int open_folder(const char *path, struct hm_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hm_fail_errno(error, "spool_dir %.200s", path);
    if (fstat(fd, &status) != 0) {
        hm_fail_errno(error, "spool_dir %.200s", path);
    } else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        hm_fail(error, EPERM,
                "spool_dir %.200s must belong to user %u and be writable by nobody else (it has user %u, mode %04o)",
                path, geteuid(), status.st_uid, status.st_mode & 07777u);
    } else {
        return fd;
    }
    close(fd);
    return -1;
}

/* Without a collector the files would add up until slurmctld itself, which keeps its state beside them as a rule,
 * cannot write any more. */
static int check_room(int folder, const char *path, struct hm_error *error)
{
    struct statvfs room;
    if (fstatvfs(folder, &room) != 0)
        return hm_fail_errno(error, "spool_dir %.200s", path);
    if (room.f_bavail >= room.f_blocks / HM_SPOOL_ROOM && room.f_favail >= room.f_files / HM_SPOOL_ROOM)
        return 0;
    return hm_fail(error, ENOSPC,
                   "the file system of spool_dir %.200s has less than a %dth of its space or of its files free: "
                   "hybridmem-collect empties the folder",
                   path, HM_SPOOL_ROOM);
}

/* Write all of the text, and wait until it is on the disk. */
static int write_text(int fd, const char *text)
{
    size_t length = strlen(text);
    ssize_t written = write(fd, text, length);
    if (written >= 0 && (size_t)written < length)
        errno = ENOSPC;
    return written == (ssize_t)length && fsync(fd) == 0 ? 0 : -1;
}

/* Write a draft under a name that nobody reads, then rename it. */
static int write_renamed(int folder, const char *name, const char *text, struct hm_error *error)
{
    char draft[64];
    snprintf(draft, sizeof(draft), ".%d.draft", (int)getpid());
    int fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    /* A process with this pid was killed, and has left its draft. */
    if (fd < 0 && errno == EEXIST && unlinkat(folder, draft, 0) == 0)
        fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return hm_fail_errno(error, "%s cannot be made in spool_dir", draft);
    int result = write_text(fd, text);
    int number = errno;
    close(fd);
    errno = number;
    /* The name is stored in the folder: without the folder's fsync a crash may lose the whole file. */
    if (result == 0 && renameat(folder, draft, folder, name) == 0 && fsync(folder) == 0)
        return 0;
    hm_fail_errno(error, "%s cannot be written to spool_dir", name);
    number = errno;
    unlinkat(folder, draft, 0);
    errno = number;
    return -1;
}

int hm_spool_file_write(const char *folder, const struct hm_spool_entry *entry, struct hm_error *error)
{
    char name[64];
    int fd = open_folder(folder, error);
    if (fd < 0 || check_room(fd, folder, error) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    /* The name has no restart count, as slurmctld can give its epilog the same count for two runs of a job. */
    snprintf(name, sizeof(name), "%" PRIu64 ".%" PRIu64 ".json", entry->job_id, entry->end_s);
    char *text = hm_spool_entry_format(entry);
    int result = text ? write_renamed(fd, name, text, error) : hm_fail(error, ENOMEM, "no memory for %s", name);
    free(text);
    close(fd);
    return result;
}
