/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000 /* Linux 5.8 */
#endif

static int open_small(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static void close_after(int fd)
{
    int number = errno;
    close(fd);
    errno = number;
}

/* Read up to `size` bytes. Returns how many were read, or -1 with errno. */
static ssize_t read_all(int fd, char *out, size_t size)
{
    size_t have = 0;
    ssize_t got;
    do {
        got = read(fd, out + have, size - have);
        have += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && have < size) || (got < 0 && errno == EINTR));
    return got < 0 ? -1 : (ssize_t)have;
}

/* Open a file, read up to `size` bytes, and close it. Returns how many were read, or -1 with errno. */
static ssize_t read_named(int at, const char *name, char *out, size_t size)
{
    int fd = open_small(at, name);
    if (fd < 0)
        return -1;
    ssize_t have = read_all(fd, out, size);
    close_after(fd);
    return have;
}

int hm_file_read(const char *path, char *out, size_t size, struct hm_error *error)
{
    ssize_t have = read_named(AT_FDCWD, path, out, size);
    if (have < 0)
        return hm_fail_errno(error, "cannot read %s", path);
    if ((size_t)have == size)
        return hm_fail(error, E2BIG, "%s is longer than the %zu bytes expected", path, size - 1);
    if (have > 0 && out[have - 1] == '\n')
        have--;
    out[have] = '\0';
    return 0;
}

/* Put '\0' after the bytes that were read, if any. Returns `have`. */
static ssize_t terminate(char *out, ssize_t have)
{
    out[have > 0 ? have : 0] = '\0';
    return have;
}

ssize_t hm_file_read_at(int at, const char *name, char *out, size_t size)
{
    return terminate(out, read_named(at, name, out, size - 1));
}

int hm_file_read_start(const char *path, char *out, size_t size)
{
    return hm_file_read_at(AT_FDCWD, path, out, size) < 0 ? -1 : 0;
}

ssize_t hm_file_read_open(int fd, char *out, size_t size)
{
    return terminate(out, pread(fd, out, size - 1, 0));
}

int hm_file_read_line(const char *path, char *out, size_t size)
{
    int result = hm_file_read_start(path, out, size);
    out[strcspn(out, "\n")] = '\0';
    return result;
}

char *hm_file_read_whole(int fd, size_t most, size_t *length)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return NULL;
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > most) {
        errno = S_ISREG(status.st_mode) ? E2BIG : EINVAL;
        return NULL;
    }
    char *text = malloc((size_t)status.st_size + 1);
    ssize_t have = text ? read_all(fd, text, (size_t)status.st_size) : -1;
    if (have < 0) {
        int number = errno;
        free(text);
        errno = number;
        return NULL;
    }
    text[have] = '\0';
    *length = (size_t)have;
    return text;
}

int hm_file_open_own(int at, const char *name)
{
    struct stat status;
    int fd = open_small(at, name);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0) {
        if (S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
            return fd;
        errno = EPERM;
    }
    close_after(fd);
    return -1;
}

/* Give the folder these permissions, unless it has them already. Returns 0 or -1. */
static int set_mode(int fd, const struct stat *status, mode_t mode)
{
    return ((status->st_mode ^ mode) & 07777) == 0 ? 0 : fchmod(fd, mode & 07777);
}

int hm_folder_open_own(int at, const char *path, mode_t mode, struct hm_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    struct stat status;
    int fd = openat(at, path, flags);
    bool is_new = fd < 0 && errno == ENOENT;
    if (is_new && mkdirat(at, path, mode) != 0 && errno != EEXIST)
        return hm_fail_errno(error, "cannot make the folder %s", path);
    if (is_new)
        fd = openat(at, path, flags);
    if (fd < 0)
        return hm_fail_errno(error, "cannot open the folder %s", path);
    if (fstat(fd, &status) != 0)
        hm_fail_errno(error, "cannot look at the folder %s", path);
    else if (status.st_uid != geteuid() || (status.st_mode & 022 & ~mode) != 0)
        hm_fail(error, EPERM, "the folder %s must belong to uid %u and be writable by nobody else", path, geteuid());
    else if (set_mode(fd, &status, is_new ? mode : status.st_mode & ~(HM_FOLDER_LIST & ~mode)) != 0)
        hm_fail_errno(error, "cannot give the folder %s mode %04o", path, mode);
    else
        return fd;
    close(fd);
    return -1;
}

static void close_range_of(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    /* Linux before 5.9 has no close_range. */
    long end = sysconf(_SC_OPEN_MAX);
    for (long fd = first; fd < end && fd <= (long)last; fd++)
        close((int)fd);
}

int hm_file_is_dax(int fd)
{
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0)
        return -1;
    return (status.stx_attributes & STATX_ATTR_DAX) != 0;
}

void hm_close_from(int first, int kept)
{
    if (kept < first) {
        close_range_of((unsigned)first, ~0u);
        return;
    }
    close_range_of((unsigned)first, (unsigned)kept - 1);
    close_range_of((unsigned)kept + 1, ~0u);
}

char *hm_text_copy(char *to, const char *from, size_t size)
{
    size_t length = strnlen(from, size - 1);
    memmove(to, from, length);
    to[length] = '\0';
    return to;
}
