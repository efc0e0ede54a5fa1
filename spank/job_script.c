/* SPDX-License-Identifier: Apache-2.0 */
/* The prolog and the epilog, which Slurm runs as root, each in a process of its own: they start hybridmem-job and pass
 * its log on to Slurm's. */
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/follow.h"
#include "base/spawn.h"
#include "job/ledger/log.h"
#include "job/namespaces/hooklimit.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-job"
#define ARGUMENTS 40
#define NUMBER 16

struct command {
    int count;
    char *argument[ARGUMENTS + 1];
};

/* Add an option and its value; an option without a value, or without room, is left out. The texts stay the caller's. */
static void add(struct command *command, const char *name, const char *value)
{
    if (!value || command->count + 2 > ARGUMENTS)
        return;
    /* the casts are safe, as execve does not write to its arguments */
    command->argument[command->count++] = (char *)(uintptr_t)name;
    command->argument[command->count++] = (char *)(uintptr_t)value;
}

/* Add an option with the value of a variable that Slurm has set. The user cannot have set it: the names of variables
 * from the user begin with SPANK_ here. */
static void add_environment(struct command *command, const char *name, const char *variable)
{
    const char *value = getenv(variable);
    add(command, name, value && value[0] ? value : NULL);
}

static int pass_on(const char *line)
{
    const char *text;
    unsigned limit_s;
    if (hm_hooklimit_parse(line, &limit_s))
        return (int)limit_s * 1000;
    if (hm_log_parse(line, &text) <= HM_LOG_WARNING)
        slurm_error("hybridmem: %s", text);
    else
        slurm_info("hybridmem: %s", text);
    return 0;
}

/* Passes on the program's log until the program ends, and closes `log`. Slurm waits for the hook, so the hook does not
 * wait for other processes that still have the log open. */
static void follow(pid_t pid, int log)
{
    errno = 0;
    int status = hm_spawn_follow(pid, log, HM_HOOKLIMIT_FIRST_S * 1000, pass_on);
    if (status > 0)
        slurm_error("hybridmem: %s failed", PROGRAM);
    else if (status < 0 && errno == ETIMEDOUT)
        slurm_error("hybridmem: %s has not ended in time and is killed", PROGRAM);
    else if (status < 0 && errno != ECHILD && errno != ESRCH) /* these two: slurmd has waited for it already */
        slurm_error("hybridmem: %s cannot be waited for: %s", PROGRAM, strerror(errno));
}

static void run(struct command *command)
{
    char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C", conf[PATH_MAX + 16];
    char *environment[] = {path, locale, NULL, NULL};
    struct hm_error error = {0};
    int errors[2];
    /* for scontrol, to find the right cluster's controller */
    const char *slurm_conf = getenv("SLURM_CONF");
    if (slurm_conf && snprintf(conf, sizeof(conf), "SLURM_CONF=%s", slurm_conf) < (int)sizeof(conf))
        environment[2] = conf;
    if (pipe2(errors, O_CLOEXEC) != 0) {
        slurm_error("hybridmem: no pipe for %s", PROGRAM);
        return;
    }
    struct hm_spawn spawn = {
        .path = PROGRAM, .arguments = command->argument, .environment = environment, .extra = -1, .errors = errors[1]};
    pid_t pid = hm_spawn_start(&spawn, &error);
    close(errors[1]);
    if (pid >= 0) {
        follow(pid, errors[0]);
        return;
    }
    close(errors[0]);
    slurm_error("hybridmem: %s", error.text);
}

static int start_command(spank_t spank, struct command *command, const char *verb, char job[NUMBER])
{
    uint32_t job_id;
    if (spank_get_item(spank, S_JOB_ID, &job_id) != ESPANK_SUCCESS) {
        slurm_error("hybridmem: Slurm does not tell the job's id");
        return -1;
    }
    snprintf(job, NUMBER, "%u", job_id);
    add(command, "hybridmem-job", verb);
    add(command, "--config", hm_option_config_path());
    add(command, "--job", job);
    return 0;
}

void hm_job_script_prolog(spank_t spank)
{
    struct command command = {0};
    char job[NUMBER], uid_text[NUMBER], gid_text[NUMBER];
    uid_t uid;
    gid_t gid;
    /* Run it even where hybridmem is switched off: jobs that began before that have company now. */
    if (start_command(spank, &command, "begin", job) != 0)
        return;
    if (spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &gid) != ESPANK_SUCCESS) {
        slurm_error("hybridmem: job %s: Slurm does not tell its user", job);
        return;
    }
    snprintf(uid_text, sizeof(uid_text), "%u", uid);
    snprintf(gid_text, sizeof(gid_text), "%u", gid);
    add(&command, "--uid", uid_text);
    add(&command, "--gid", gid_text);
    add(&command, "--request", hm_option_of_job(spank));
    add_environment(&command, "--user", "SLURM_JOB_USER");
    add_environment(&command, "--account", "SLURM_JOB_ACCOUNT");
    add_environment(&command, "--partition", "SLURM_JOB_PARTITION");
    add_environment(&command, "--cluster", "SLURM_CLUSTER_NAME");
    add_environment(&command, "--node", "SLURMD_NODENAME");
    add_environment(&command, "--restart", "SLURM_JOB_RESTART_COUNT");
    add_environment(&command, "--het-job", "SLURM_HET_JOB_ID");
    add_environment(&command, "--end-time", "SLURM_JOB_END_TIME");
    run(&command);
}

void hm_job_script_epilog(spank_t spank)
{
    struct command command = {0};
    char job[NUMBER];
    /* Run it even where hybridmem is switched off: the job may have begun before that. */
    if (start_command(spank, &command, "end", job) != 0)
        return;
    add_environment(&command, "--cluster", "SLURM_CLUSTER_NAME");
    add_environment(&command, "--exit-status", "SLURM_JOB_EXIT_CODE");
    run(&command);
}
