/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files (files.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

int hm_file_write(const char *path, const char *text, struct hm_error *error)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hm_fail_errno(error, "cannot write %s", path);
    ssize_t wanted = (ssize_t)strlen(text);
    ssize_t written = write(fd, text, (size_t)wanted);
    if (written >= 0 && written != wanted)
        errno = EIO;
    int result = written == wanted ? 0 : hm_fail_errno(error, "cannot write \"%s\" to %s", text, path);
    close(fd);
    return result;
}
