/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

char scratch[] = "/tmp/hm-test.XXXXXX";

int scratch_make(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

int scratch_drop(void **state)
{
    (void)state;
    return scratch_remove(scratch);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

int scratch_remove(const char *path)
{
    return nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT ? 0 : -1;
}

char *scratch_path(const char *format, ...)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8], name[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
    return path;
}

void scratch_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        fail_msg("%s cannot be written", path);
    assert_int_equal(close(fd), 0);
}
