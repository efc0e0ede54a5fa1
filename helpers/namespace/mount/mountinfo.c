/* SPDX-License-Identifier: Apache-2.0 */
#include "mountinfo.h"

#include <libmount.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int hm_mountinfo_place(const char *path, dev_t device, char *place, size_t size)
{
    int result = -1;
    struct libmnt_table *table = mnt_new_table_from_file(path);
    if (!table)
        return -1;
    struct libmnt_fs *mount = mnt_table_find_devno(table, device, MNT_ITER_FORWARD);
    const char *target = mount ? mnt_fs_get_target(mount) : NULL;
    if (!mount) {
        result = 0;
    } else if (target && strlen(target) < size) {
        memcpy(place, target, strlen(target) + 1);
        result = 1;
    }
    mnt_unref_table(table);
    return result;
}

bool hm_mountinfo_sees(const char *pid, dev_t device)
{
    char path[40], place[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%.16s/mountinfo", pid);
    return hm_mountinfo_place(path, device, place, sizeof(place)) == 1;
}
