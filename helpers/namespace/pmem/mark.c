/* SPDX-License-Identifier: Apache-2.0 */
#include "mark.h"

#include <stdio.h>
#include <string.h>

#include "namespace/mount/mkfs.h"

#define ROOM (UINT64_C(1) << 20) /* a multiple of any file system's block */

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
