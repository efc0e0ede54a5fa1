/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the list of living jobs that a reap is given. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/path.h"
#include "parts.h"

#define MOST_LIVING ((1 << 20) - 1)

static char *read_file(const char *living, struct hm_error *error)
{
    size_t length;
    int fd = hm_path_open(living, error);
    if (fd < 0)
        return NULL;
    char *list = hm_file_read_whole(fd, MOST_LIVING, &length);
    if (!list)
        hm_fail_errno(error, "cannot read %s", living);
    close(fd);
    /* A byte of value 0 would hide the jobs after it. */
    if (!list || strlen(list) == length)
        return list;
    hm_fail(error, EINVAL, "%s is not a text: it has a byte of value 0", living);
    free(list);
    return NULL;
}

static char *read_living(const char *living, struct hm_error *error)
{
    if (living[0] == '/')
        return read_file(living, error);
    char *list = strdup(living);
    if (!list)
        hm_fail(error, ENOMEM, "no memory for the list of living jobs");
    return list;
}

char *hm_living_read(const char *living, struct hm_error *error)
{
    struct hm_error why = {{0}};
    char *list = read_living(living, error);
    if (!list || hm_living_check(list, &why) == 0)
        return list;
    free(list);
    hm_fail(error, EINVAL, "--living: %s", why.text);
    return NULL;
}
