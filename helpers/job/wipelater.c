/* SPDX-License-Identifier: Apache-2.0 */
#include "wipelater.h"

#include <errno.h>
#include <time.h>

#include "spawn.h"

#define PATIENCE_MS 20000 /* for a systemd that does not answer */

unsigned hm_wipe_left(const struct hm_config *config)
{
    static time_t begin_s;
    struct timespec now;
    if (config->fsdax_wipe_limit_s == 0)
        return HM_WIPE_NO_LIMIT;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (begin_s == 0)
        begin_s = now.tv_sec;
    unsigned used = (unsigned)(now.tv_sec - begin_s);
    return used < config->fsdax_wipe_limit_s ? config->fsdax_wipe_limit_s - used : 0;
}

int hm_wipe_hand_over(struct hm_error *error)
{
    char name[] = "systemctl", start[] = "start", goes_on[] = "--no-block", unit[] = HM_WIPE_UNIT,
         locale[] = "LC_ALL=C";
    char *words[] = {name, start, goes_on, unit, NULL}, *environment[] = {locale, NULL};
    const struct hm_spawn spawn = {
        .path = "/usr/bin/systemctl", .arguments = words, .environment = environment, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0)
        return -1;
    int status = hm_spawn_wait_for(pid, PATIENCE_MS);
    return status == 0 ? 0 : hm_fail(error, EIO, "systemctl start " HM_WIPE_UNIT " ended with status %d", status);
}
