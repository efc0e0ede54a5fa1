/* SPDX-License-Identifier: Apache-2.0 */
#include "mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "namespace/mount/mkfs.h"

#define ROOM (UINT64_C(64) << 10) /* a whole number of blocks, whatever their size */

uint64_t hm_mark_room(uint64_t device_bytes)
{
    return device_bytes > ROOM ? device_bytes - ROOM : 0;
}

void hm_mark_format(const struct hm_owner *owner, const char *filesystem, char page[HM_MARK_PAGE])
{
    char name[HM_OWNER_NAME];
    uuid_t uuid;
    memset(page, 0, HM_MARK_PAGE);
    hm_owner_write(owner, name, uuid);
    snprintf(page, HM_MARK_PAGE, "%s %.*s\n", name, HM_MARK_FS - 1, filesystem);
}

bool hm_mark_parse(const char page[HM_MARK_PAGE], const struct hm_owner *owner, char filesystem[HM_MARK_FS])
{
    char again[HM_MARK_PAGE];
    const char *blank = memchr(page, ' ', HM_OWNER_NAME);
    const char *end = blank ? memchr(blank, '\n', HM_MARK_FS) : NULL;
    if (!end || end == blank + 1)
        return false;
    size_t length = (size_t)(end - blank - 1);
    memcpy(filesystem, blank + 1, length);
    filesystem[length] = '\0';
    hm_mark_format(owner, filesystem, again);
    return hm_mkfs_find(filesystem) && memcmp(again, page, HM_MARK_PAGE) == 0;
}

/* Write or read the page, bypassing the page cache. Returns 0 or -1. */
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

/* A page for O_DIRECT, to free. Returns NULL with a text where memory is short. */
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
