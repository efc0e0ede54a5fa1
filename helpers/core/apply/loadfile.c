/* SPDX-License-Identifier: Apache-2.0 */
#include "loadfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "core/load/text.h"

#define FILE_MAX 65536

int hm_loadfile_read(const char *path, struct hm_load *load, struct hm_error *error)
{
    size_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    char *text = hm_file_read_whole(fd, FILE_MAX, &length);
    int number = errno;
    close(fd);
    errno = number;
    if (!text && errno == E2BIG)
        return hm_fail(error, EFBIG, "%s is larger than %d bytes", path, FILE_MAX);
    if (!text)
        return errno == EINVAL ? hm_fail(error, EINVAL, "%s is no regular file", path)
                               : hm_fail_errno(error, "%s", path);
    int result = hm_load_parse(path, text, length, load, error);
    free(text);
    return result;
}
