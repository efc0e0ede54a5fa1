/* SPDX-License-Identifier: Apache-2.0 */
#include "ended.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "size.h"

/* Where the status is in the file; -1 with errno: there is no room for it. */
static off_t find_place(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -1;
    if (status.st_size >= HM_ENDED_BYTES)
        return status.st_size - HM_ENDED_BYTES;
    errno = ENOSPC;
    return -1;
}

bool hm_ended_has_place(int fd)
{
    return find_place(fd) >= 0;
}

int hm_ended_tell(int fd, int status)
{
    char text[HM_ENDED_BYTES] = "";
    off_t place = find_place(fd);
    snprintf(text, sizeof(text), "%u", (unsigned)status & 0xffff);
    return place >= 0 && pwrite(fd, text, sizeof(text), place) == (ssize_t)sizeof(text) ? 0 : -1;
}

bool hm_ended_is_told(int fd, int *status)
{
    char text[HM_ENDED_BYTES];
    uint64_t number;
    off_t place = find_place(fd);
    if (place < 0 || pread(fd, text, sizeof(text), place) != (ssize_t)sizeof(text) ||
        !memchr(text, '\0', sizeof(text)) || hm_size_parse_number(text, 0, 0xffff, &number, NULL) < 0)
        return false;
    *status = (int)number;
    return true;
}
