/* SPDX-License-Identifier: Apache-2.0 */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Follows links, and finds out the mode of the file. Returns 0, or -1 with a text. */
static int find_place(struct hm_newfile *file, const char *path, const char *example, struct hm_error *error)
{
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    file->mode = 0666 & ~mask;
    file->path = realpath(path, NULL);
    if (!file->path && errno == ENOENT)
        file->path = strdup(path);
    else if (file->path && stat(file->path, &status) == 0 && !S_ISREG(status.st_mode))
        return hm_fail(error, EINVAL, "%s: it is no regular file: name one, as in %s", path, example);
    else if (file->path && access(file->path, W_OK) == 0)
        file->mode = status.st_mode & 0777;
    else if (file->path)
        return hm_fail_errno(error, "%s", path);
    return file->path ? 0 : hm_fail_errno(error, "%s", path);
}

int hm_newfile_open(struct hm_newfile *file, const char *path, const char *example, struct hm_error *error)
{
    *file = (struct hm_newfile){.fd = -1};
    if (find_place(file, path, example, error) != 0)
        return -1;
    if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
        file->temporary = NULL;
        return hm_fail(error, ENOMEM, "%s: out of memory", path);
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd >= 0)
        return 0;
    int number = errno;
    free(file->temporary);
    file->temporary = NULL;
    errno = number;
    return hm_fail_errno(error, "%s", path);
}

int hm_newfile_place(struct hm_newfile *file)
{
    if (fchmod(file->fd, file->mode) != 0 || fsync(file->fd) != 0 || rename(file->temporary, file->path) != 0)
        return -1;
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

void hm_newfile_close(struct hm_newfile *file)
{
    if (file->temporary)
        unlink(file->temporary);
    if (file->fd >= 0)
        close(file->fd);
    free(file->temporary);
    free(file->path);
    *file = (struct hm_newfile){.fd = -1};
}
