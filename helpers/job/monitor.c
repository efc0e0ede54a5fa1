/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../meter/samples.h"
#include "living.h"
#include "mongroup.h"
#include "spawn.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-monitor"
#define ANY_CGROUP "/sys/fs/cgroup" /* the root takes processes on every system */

const char *hm_monitor_program(void)
{
    return PROGRAM;
}

int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error)
{
    char buffer[4096];
    struct passwd user, *found = NULL;
    if (getpwnam_r(HM_MONITOR_USER, &user, buffer, sizeof(buffer), &found) != 0 || !found || user.pw_uid == 0)
        return hm_fail(error, ENOENT, "there is no system user \"%s\" for the monitor (systemd-sysusers makes it)",
                       HM_MONITOR_USER);
    *uid = user.pw_uid;
    *gid = user.pw_gid;
    return 0;
}

/* Open what an earlier monitor of this job left. Returns the descriptor, or -1 where there is nothing that can be used.
 */
static int reopen_samples(const char *path)
{
    const uint32_t unfinished = 0;
    struct hm_samples *samples = malloc(sizeof(*samples));
    int fd = -1;
    if (samples && hm_samples_read(path, samples, NULL) == 0)
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    free(samples);
    if (fd >= 0 && pwrite(fd, &unfinished, sizeof(unfinished), offsetof(struct hm_samples, finished)) !=
                       (ssize_t)sizeof(unfinished)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_samples(const struct hm_config *config, const struct hm_tiers *tiers, struct hm_job *job,
                        struct hm_error *error)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    hm_ledger_samples_path(config, job->job_id, path, sizeof(path));
    if (job->monitor.pid > 0) {
        hm_job_warn(job, "the monitor ended early and was started again: figures in between are missing");
        int fd = reopen_samples(path);
        if (fd >= 0)
            return fd;
    }
    if (unlink(path) != 0 && errno != ENOENT)
        return hm_fail_errno(error, "cannot remove %s", path);
    return hm_samples_create(path, tiers, config->interval_ms, error);
}

int hm_monitor_start(const struct hm_config *config, const struct hm_tiers *tiers, struct hm_job *job,
                     struct hm_error *error)
{
    char guard[HM_JOB_CGROUP + 16], user[16], group[16], mongroup[HM_MONGROUP_PATH];
    char option[] = "--resctrl";
    uid_t uid;
    gid_t gid;
    char *arguments[] = {(char[]){"hybridmem-monitor"},
                         (char[]){"--samples-fd"},
                         (char[]){"3"},
                         (char[]){"--cgroup"},
                         job->cgroup,
                         (char[]){"--guard"},
                         guard,
                         (char[]){"--uid"},
                         user,
                         (char[]){"--gid"},
                         group,
                         hm_mongroup_is_whole(&job->mongroup) ? option : NULL,
                         mongroup,
                         NULL};
    char *environment[] = {(char[]){"LC_ALL=C"}, NULL};
    /* As root: it opens the node's counters, and becomes that user itself. */
    struct hm_spawn spawn = {.path = PROGRAM, .arguments = arguments, .environment = environment, .errors = -1};

    if (hm_process_is_running(&job->monitor))
        return 0;
    if (hm_monitor_identity(&uid, &gid, error) != 0)
        return -1;
    snprintf(guard, sizeof(guard), "%s/cgroup.events", job->cgroup);
    snprintf(user, sizeof(user), "%u", uid);
    snprintf(group, sizeof(group), "%u", gid);
    hm_mongroup_path(config, job->job_id, &job->mongroup, mongroup);
    spawn.cgroup = job->home_cgroup[0] ? job->home_cgroup : ANY_CGROUP;
    spawn.extra = open_samples(config, tiers, job, error);
    if (spawn.extra < 0)
        return -1;
    pid_t pid = hm_spawn_start(&spawn, error);
    close(spawn.extra);
    if (pid < 0)
        return -1;
    /* It may have ended already: then it is no process to stop later, only one that was started. */
    if (hm_process_identify(pid, &job->monitor) != 0)
        job->monitor = (struct hm_process){.pid = pid};
    return 0;
}
