/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the mark at the end of a device (mark.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mark.h"

/* Write or read the mark's page, bypassing the page cache. Returns 0 or -1. */
static int transfer(const char *device, int flags, void *page, struct hm_error *error)
{
    int result = -1;
    bool is_read = flags == O_RDONLY;
    int fd = open(device, flags | O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hm_fail_errno(error, "cannot open %s for its mark", device);
    off_t at = lseek(fd, -HM_MARK_PAGE, SEEK_END);
    ssize_t done = at < 0 ? -1 : is_read ? read(fd, page, HM_MARK_PAGE) : write(fd, page, HM_MARK_PAGE);
    if (done >= 0 && done != HM_MARK_PAGE)
        errno = EIO;
    if (done != HM_MARK_PAGE || (!is_read && fsync(fd) != 0))
        hm_fail_errno(error, "cannot %s the mark at the end of %s", is_read ? "read" : "write", device);
    else
        result = 0;
    int number = errno;
    close(fd);
    errno = number;
    return result;
}

/* Returns a page for O_DIRECT, which the caller frees; NULL with a text where memory is short. */
static char *new_page(struct hm_error *error)
{
    char *page = aligned_alloc(HM_MARK_PAGE, HM_MARK_PAGE);
    if (!page)
        hm_fail(error, ENOMEM, "no memory for a page");
    return page;
}

static int put(const char *device, const struct hm_owner *owner, const char *filesystem, struct hm_error *error)
{
    char *page = new_page(error);
    if (!page)
        return -1;
    if (owner)
        hm_mark_format(owner, filesystem, page);
    else
        memset(page, 0, HM_MARK_PAGE);
    int result = transfer(device, O_RDWR | O_EXCL, page, error);
    int number = errno;
    free(page);
    errno = number;
    return result;
}

int hm_mark_write(const char *device, const struct hm_owner *owner, const char *filesystem, struct hm_error *error)
{
    return put(device, owner, filesystem, error);
}

int hm_mark_clear(const char *device, struct hm_error *error)
{
    return put(device, NULL, NULL, error);
}

int hm_mark_read(const char *device, const struct hm_owner *owner, char filesystem[HM_MARK_FS], struct hm_error *error)
{
    char *page = new_page(error);
    int result = page ? transfer(device, O_RDONLY, page, error) : -1;
    if (result == 0)
        result = hm_mark_parse(page, owner, filesystem);
    int number = errno;
    free(page);
    errno = number;
    return result;
}
