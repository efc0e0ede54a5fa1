/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/spawn.h"
#include "core/config/lookup.h"
#include "job/ledger/hurry.h"
#include "job/node/fair.h"
#include "job/node/mongroup.h"
#include "meter/monitor/samples.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-monitor"
#define MOST_WORDS 24
#define SLURM_CONF "SLURM_CONF"
#define ANY_CGROUP "/sys/fs/cgroup" /* the root cgroup, which takes processes on every system */

const char *hm_monitor_program(void)
{
    return PROGRAM;
}

int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error)
{
    int result = hm_lookup_user(HM_MONITOR_USER, uid, gid, error);
    if (result != 0 && errno != ENOENT)
        return -1;
    if (result != 0 || *uid == 0)
        return hm_fail(error, ENOENT, "there is no system user \"%s\" for the monitor (systemd-sysusers makes it)",
                       HM_MONITOR_USER);
    return 0;
}

/*
 * Opens the samples file that an earlier monitor of this job left, and marks it unfinished. Returns a descriptor, or -1
 * if there is no usable file.
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

static int open_samples(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                        struct hm_error *error)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    hm_ledger_samples_path(config, job->job_id, path, sizeof(path));
    int fd = job->monitor.pid > 0 ? reopen_samples(path) : -1;
    if (fd >= 0)
        return fd;
    if (unlink(path) != 0 && errno != ENOENT)
        return hm_fail_errno(error, "cannot remove %s", path);
    return hm_samples_create(path, tiers, config->interval_ms, error);
}

/* Adds an option and its value; MOST_WORDS has room for all of them. */
static void add(char *arguments[MOST_WORDS], char *name, char *value)
{
    int n = 0;
    while (arguments[n])
        n++;
    arguments[n] = name;
    arguments[n + 1] = value;
}

/* Adds the programs that the monitor starts where the node's own counters lack something. */
static void add_programs(const struct hm_config *config, char *arguments[MOST_WORDS])
{
    static char papi[] = HM_LIBEXECDIR "/hybridmem-papi", slurm[] = HM_LIBEXECDIR "/hybridmem-slurmenergy";
    static char papi_word[] = "--papi", slurm_word[] = "--slurm";
    if (config->meter_programs & HM_METER_PAPI)
        add(arguments, papi_word, papi);
    if (config->meter_programs & HM_METER_SLURM)
        add(arguments, slurm_word, slurm);
}

/* "SLURM_CONF=..." from the daemon's environment, for Slurm's library; NULL: not set, too long, or not needed. */
static char *slurm_conf(const struct hm_config *config, char *out, size_t size)
{
    const char *value = config->meter_programs & HM_METER_SLURM ? getenv(SLURM_CONF) : NULL;
    return value && (size_t)snprintf(out, size, SLURM_CONF "=%s", value) < size ? out : NULL;
}

bool hm_monitor_begin(struct hm_job *job)
{
    if (hm_process_is_running(&job->monitor) || hm_process_is_running(&job->monitor_starter))
        return false;
    if (job->monitor.pid > 0)
        hm_job_warn(job, "the monitor ended early and was started again: figures in between are missing");
    hm_process_identify(getpid(), &job->monitor_starter);
    return true;
}

int hm_monitor_launch(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                      struct hm_process *monitor, struct hm_error *error)
{
    char cgroup[HM_JOB_CGROUP], guard[HM_JOB_CGROUP + 16], user[16], group[16], mongroup[HM_MONGROUP_PATH];
    char shares_word[] = "--shares", job_word[] = "--job", shares[HM_FAIR_PATH], number[16];
    char resctrl[] = "--resctrl", variable[PATH_MAX + sizeof(SLURM_CONF) + 1];
    uid_t uid;
    gid_t gid;
    char *arguments[MOST_WORDS] = {(char[]){"hybridmem-monitor"},
                                   (char[]){"--samples-fd"},
                                   (char[]){"3"},
                                   (char[]){"--cgroup"},
                                   cgroup,
                                   (char[]){"--guard"},
                                   guard,
                                   (char[]){"--uid"},
                                   user,
                                   (char[]){"--gid"},
                                   group};
    char *environment[] = {(char[]){"LC_ALL=C"}, slurm_conf(config, variable, sizeof(variable)), NULL};
    /* The program starts as root: it opens the node's counters, then becomes user `uid` itself. */
    struct hm_spawn spawn = {.path = PROGRAM, .arguments = arguments, .environment = environment, .errors = -1};

    if (hm_monitor_identity(&uid, &gid, error) != 0)
        return -1;
    hm_text_copy(cgroup, job->cgroup, sizeof(cgroup));
    snprintf(guard, sizeof(guard), "%s/cgroup.events", job->cgroup);
    snprintf(user, sizeof(user), "%u", uid);
    snprintf(group, sizeof(group), "%u", gid);
    hm_mongroup_path(config, job->job_id, &job->mongroup, mongroup);
    if (hm_mongroup_is_whole(&job->mongroup))
        add(arguments, resctrl, mongroup);
    if (hm_fair_make(config, NULL) == 0 && hm_fair_path(config, shares)) {
        snprintf(number, sizeof(number), "%u", job->job_id);
        add(arguments, shares_word, shares);
        add(arguments, job_word, number);
    }
    add_programs(config, arguments);
    spawn.cgroup = job->home_cgroup[0] ? job->home_cgroup : ANY_CGROUP;
    hm_hurry_begin();
    spawn.extra = open_samples(config, tiers, job, error);
    hm_hurry_end();
    if (spawn.extra < 0)
        return -1;
    pid_t pid = hm_spawn_start(&spawn, error);
    close(spawn.extra);
    if (pid < 0)
        return -1;
    /* It may have ended already. Then the pid only says that a monitor was started; nothing is stopped later. */
    if (hm_process_identify(pid, monitor) != 0)
        *monitor = (struct hm_process){.pid = pid};
    return 0;
}

void hm_monitor_note(struct hm_job *job, const struct hm_process *monitor)
{
    job->monitor_starter = (struct hm_process){0};
    if (monitor)
        job->monitor = *monitor;
}
