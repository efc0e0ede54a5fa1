/* SPDX-License-Identifier: Apache-2.0 */
#include "procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

int hm_file_read_start(const char *path, char *out, size_t size)
{
    size_t have = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    do {
        got = read(fd, out + have, size - 1 - have);
        have += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && have < size - 1) || (got < 0 && errno == EINTR));
    int number = errno;
    close(fd);
    errno = number;
    out[have] = '\0';
    return got < 0 ? -1 : 0;
}

int hm_procfile_read(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return hm_file_read_start(path, out, size);
}

uint64_t hm_process_resident(pid_t pid)
{
    char text[128];
    uint64_t pages = 0;
    bool is_read = hm_procfile_read(pid, "statm", text, sizeof(text)) == 0;
    return is_read && sscanf(text, "%*u %" SCNu64, &pages) == 1 ? pages : 0;
}
