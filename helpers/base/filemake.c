/* SPDX-License-Identifier: Apache-2.0 */
/* Makes files (files.h). */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "files.h"

int hm_file_make(int at, const char *name, const char *text, size_t length)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, text, length);
    if (written == (ssize_t)length)
        return fd;
    int number = written < 0 ? errno : ENOSPC;
    unlinkat(at, name, 0);
    close(fd);
    errno = number;
    return -1;
}
