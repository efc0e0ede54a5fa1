/* SPDX-License-Identifier: Apache-2.0 */
#include "left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "pagesize.h"

_Static_assert(sizeof(uint64_t) == HM_LEFT_BYTES, "the counter fills its place");

/* Where the counter is, and the text ends; -1: the file has none. The seal tells our file from one that a user has
 * opened, in which nothing may be overwritten. */
static off_t find_counter(int fd)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_GROW) || fstat(fd, &status) != 0 || status.st_size < HM_LEFT_BEHIND ||
        status.st_size % HM_LEFT_BYTES != 0)
        return -1;
    return status.st_size - HM_LEFT_BEHIND;
}

/* Takes `length` bytes of the file. Returns where they begin, or -1 with errno. */
static off_t take_place(int fd, off_t counter, size_t length)
{
    off_t page = counter - counter % (off_t)hm_page_size();
    size_t size = (size_t)(counter - page) + HM_LEFT_BYTES;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page);
    if (bytes == MAP_FAILED)
        return -1;
    uint64_t *taken = (uint64_t *)(void *)(bytes + (counter - page));
    uint64_t place = __atomic_fetch_add(taken, length, __ATOMIC_RELAXED);
    munmap(bytes, size);
    if (place <= (uint64_t)counter && length <= (uint64_t)counter - place)
        return (off_t)place;
    errno = ENOSPC;
    return -1;
}

int hm_left_add(int fd, const char *text, size_t length)
{
    off_t counter = find_counter(fd);
    if (counter < 0)
        return write(fd, text, length) == (ssize_t)length ? 0 : -1;
    off_t place = take_place(fd, counter, length);
    return place >= 0 && pwrite(fd, text, length, place) == (ssize_t)length ? 0 : -1;
}

size_t hm_left_read(int fd, char *out, size_t size)
{
    off_t counter = find_counter(fd);
    size_t most = counter >= 0 && (size_t)counter < size ? (size_t)counter : size - 1;
    ssize_t length = pread(fd, out, most, 0);
    while (length > 0 && out[length - 1] == '\0')
        length--;
    for (ssize_t i = 0; i < length; i++)
        if (out[i] == '\0')
            out[i] = '\n';
    length = length > 0 ? length : 0;
    out[length] = '\0';
    return (size_t)length;
}

const char *hm_left_next(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}
