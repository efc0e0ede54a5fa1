/* SPDX-License-Identifier: Apache-2.0 */
#include "grown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
    uint32_t magic, version, bytes;
};

/* Reserve the blocks now: a store to a page without a block would be a SIGBUS when the file system is full. Returns 0,
 * or an errno. */
static int reserve(int fd, size_t size)
{
    return posix_fallocate(fd, 0, (off_t)size);
}

int hm_grown_create(const char *path, const void *fresh, size_t size, struct hm_error *error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return hm_fail_errno(error, "cannot create %s", path);
    int number = reserve(fd, size);
    if (number == 0 && pwrite(fd, fresh, size, 0) == (ssize_t)size)
        return fd;
    unlink(path);
    close(fd);
    if (number == 0)
        return hm_fail(error, EIO, "%s could not be written", path);
    return hm_fail(error, number, "%s cannot have its %zu bytes: %s", path, size, strerror(number));
}

/* Find the size of the file. Returns it, or -1 where the file cannot be looked at, or is not a regular file of `least`
 * bytes or more. */
static off_t find_size(int fd, size_t least, struct hm_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return hm_fail_errno(error, "descriptor %d cannot be looked at", fd);
    if (!S_ISREG(status.st_mode) || status.st_size < (off_t)least)
        return hm_fail(error, EBADMSG, "it is not a file of %zu bytes or more", least);
    return status.st_size;
}

int hm_grown_read(int fd, void *value, size_t size, size_t least, struct hm_error *error)
{
    off_t has = find_size(fd, least, error);
    if (has < 0)
        return -1;
    ssize_t wanted = has < (off_t)size ? (ssize_t)has : (ssize_t)size;
    if (pread(fd, value, (size_t)wanted, 0) == wanted)
        return 0;
    return hm_fail(error, EIO, "it could not be read");
}

void *hm_grown_map(int fd, const void *fresh, size_t size, size_t least, struct hm_error *error)
{
    off_t has = find_size(fd, least, error);
    if (has < 0)
        return NULL;
    int number = has < (off_t)size ? reserve(fd, size) : 0;
    if (number != 0) {
        hm_fail(error, number, "it cannot have its %zu bytes: %s", size, strerror(number));
        return NULL;
    }
    struct head *head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED) {
        hm_fail_errno(error, "it cannot be mapped");
        return NULL;
    }
    if (head->bytes >= least && head->bytes < size) {
        memcpy((char *)head + head->bytes, (const char *)fresh + head->bytes, size - head->bytes);
        head->bytes = (uint32_t)size;
    }
    return head;
}
