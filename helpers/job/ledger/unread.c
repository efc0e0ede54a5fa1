/* SPDX-License-Identifier: Apache-2.0 */
#include "unread.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "jobcgroup.h"

/*
 * Was the entry written, or first looked at by a reap, less than `grace_s` seconds ago? An administrator may set the
 * clock that gives files their times. So the first reap that looks at the file sets its time by CLOCK_BOOTTIME, which
 * is always far behind the time of day. If the file's time is after CLOCK_BOOTTIME, no reap has looked at it since it
 * was written.
 */
static bool is_young(const struct hm_config *config, uint32_t job_id, unsigned grace_s)
{
    char folder[HM_CONFIG_PATH_MAX + 16], path[HM_CONFIG_PATH_MAX + 32];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%u", hm_ledger_folder_path(config, folder, sizeof(folder)), job_id);
    const struct timespec now = {.tv_sec = hm_clock_ms(CLOCK_BOOTTIME) / 1000};
    if (stat(path, &status) != 0)
        return true;
    if (status.st_mtime > now.tv_sec) {
        if (utimensat(AT_FDCWD, path, (const struct timespec[2]){now, now}, AT_SYMLINK_NOFOLLOW) != 0)
            return true;
        status.st_mtime = now.tv_sec;
    }
    return now.tv_sec - status.st_mtime < (int64_t)grace_s;
}

bool hm_unread_is_living(const struct hm_config *config, const char *cgroups, uint32_t job_id, unsigned grace_s)
{
    return is_young(config, job_id, grace_s) || hm_jobcgroup_has(cgroups, job_id, true);
}
