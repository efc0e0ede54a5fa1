/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000 /* Linux 5.8 */
#endif

static int open_small(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Read up to `size` bytes and close the file. Returns how many bytes were read, or -1 with errno. */
static ssize_t read_all(int fd, char *out, size_t size)
{
    size_t have = 0;
    ssize_t got;
    do {
        got = read(fd, out + have, size - have);
        have += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && have < size) || (got < 0 && errno == EINTR));
    int number = errno;
    close(fd);
    errno = number;
    return got < 0 ? -1 : (ssize_t)have;
}

int hm_file_read(const char *path, char *out, size_t size, struct hm_error *error)
{
    int fd = open_small(path);
    ssize_t have = fd < 0 ? -1 : read_all(fd, out, size);
    if (have < 0)
        return hm_fail_errno(error, "cannot read %s", path);
    if ((size_t)have == size)
        return hm_fail(error, E2BIG, "%s is longer than the %zu bytes expected", path, size - 1);
    if (have > 0 && out[have - 1] == '\n')
        have--;
    out[have] = '\0';
    return 0;
}

int hm_file_read_start(const char *path, char *out, size_t size)
{
    int fd = open_small(path);
    ssize_t have = fd < 0 ? -1 : read_all(fd, out, size - 1);
    out[have > 0 ? have : 0] = '\0';
    return have < 0 ? -1 : 0;
}

void hm_file_read_back(int fd, char *out, size_t size)
{
    ssize_t have = pread(fd, out, size - 1, 0);
    out[have > 0 ? have : 0] = '\0';
}

int hm_file_read_line(const char *path, char *out, size_t size)
{
    int result = hm_file_read_start(path, out, size);
    out[strcspn(out, "\n")] = '\0';
    return result;
}

/* Give the folder these permissions where it has others. Returns 0 or -1. */
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
