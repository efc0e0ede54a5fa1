/* SPDX-License-Identifier: Apache-2.0 */
#include "wipelater.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "hooklimit.h"
#include "job/ledger/log.h"

#define UNIT 64           /* bytes of a unit's name with the largest numbers */
#define PATIENCE_MS 20000 /* how long to wait for systemctl */

unsigned hm_wipe_left(const struct hm_config *config)
{
    static int64_t begin_ms;
    if (config->fsdax_wipe_limit_s == 0)
        return HM_WIPE_NO_LIMIT;
    const int64_t now_ms = hm_clock_ms(CLOCK_MONOTONIC);
    if (begin_ms == 0)
        begin_ms = now_ms;
    unsigned used = (unsigned)((now_ms - begin_ms) / 1000);
    return used < config->fsdax_wipe_limit_s ? config->fsdax_wipe_limit_s - used : 0;
}

/*
 * The unit's name has our pid, so that each call starts an instance of its own. Starting an instance that already runs
 * would do nothing, and that instance may have listed the living jobs before this job ended. One job can start several
 * instances: in its prolog, in its epilog, and in each restart.
 */
static char *name_unit(char unit[UNIT], uint32_t job_id)
{
    snprintf(unit, UNIT, "hybridmem-wipe@%u-%d.service", job_id, (int)getpid());
    return unit;
}

static int start(char *unit, struct hm_error *error)
{
    char name[] = "systemctl", start[] = "start", goes_on[] = "--no-block", locale[] = "LC_ALL=C";
    char *words[] = {name, start, goes_on, unit, NULL}, *environment[] = {locale, NULL};
    const struct hm_spawn spawn = {
        .path = "/usr/bin/systemctl", .arguments = words, .environment = environment, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0)
        return -1;
    int status = hm_spawn_wait_for(pid, PATIENCE_MS);
    if (status < 0)
        return hm_fail_errno(error, "systemctl start %s did not end", unit);
    if (status == 0)
        return 0;
    return hm_fail(error, EIO, "systemctl start %s failed (%s %d)", unit,
                   WIFSIGNALED(status) ? "signal" : "exit status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int hm_wipe_hand_over(const struct hm_config *config, uint32_t job_id, const char *why, struct hm_error *error)
{
    char unit[UNIT];
    struct hm_error how = {0};
    unsigned left_s = hm_hooklimit_pause(config); /* systemd may take up to PATIENCE_MS */
    /* The unit reads the installed configuration. Another configuration may have another ledger. */
    int result = config->path[0] && strcmp(config->path, hm_config_path()) != 0
                     ? hm_fail(&how, ENOTSUP, "%s is not the installed configuration", config->path)
                     : start(name_unit(unit, job_id), &how);
    hm_hooklimit_resume(left_s);
    if (result != 0)
        return hm_fail(error, ETIME, "%s; %s, so the next reap goes on", why, how.text);
    hm_log(HM_LOG_INFO, "%s; %s goes on", why, unit);
    return 0;
}
