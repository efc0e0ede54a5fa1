/* SPDX-License-Identifier: Apache-2.0 */
#include "migrator.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/moment.h"
#include "base/process.h"
#include "base/spawn.h"
#include "job/ledger/figurefile.h"
#include "job/ledger/hurry.h"
#include "job/node/fair.h"
#include "slurm/stepname.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-migrator"
#define PATIENCE_MS 10000 /* time to write its last figures and end; once killed, it has the same time again */

static char *path_of(const struct hm_config *config, uint32_t job_id, uint32_t step_id, char *out, size_t size)
{
    char folder[HM_CONFIG_PATH_MAX + 16], name[64];
    snprintf(out, size, "%s/%s", hm_ledger_folder_path(config, folder, sizeof(folder)),
             hm_figurefile_name(job_id, step_id, name, sizeof(name)));
    return out;
}

/*
 * A place without a process is free unless its starter still runs. A migrator that a dead starter may have left ends
 * with the step's tasks (--guard).
 */
static bool is_free(const struct hm_step_migrator *place)
{
    return place->process.pid == 0 && !hm_process_is_running(&place->starter);
}

static bool is_of_step(const struct hm_step_migrator *place, uint32_t step_id)
{
    return (place->process.pid > 0 || place->starter.pid > 0) && place->step_id == step_id;
}

static void forget(struct hm_job *job, uint32_t step_id)
{
    for (int i = 0; i < HM_JOB_MIGRATORS; i++)
        if (is_of_step(&job->migrator[i], step_id))
            memset(&job->migrator[i], 0, sizeof(job->migrator[i]));
}

static void remember(struct hm_job *job, const struct hm_step_migrator *place)
{
    for (int i = 0; i < HM_JOB_MIGRATORS; i++) {
        if (!is_free(&job->migrator[i]))
            continue;
        job->migrator[i] = *place;
        return;
    }
}

int hm_migrator_begin(const struct hm_config *config, struct hm_job *job, uint32_t step_id, uint64_t cap_bytes,
                      struct hm_error *error)
{
    struct hm_step_migrator place = {.step_id = step_id};
    struct hm_error why = {0};
    /* Slurm can start a step again. */
    if (hm_migrator_collect(config, job, step_id, error) != 0)
        return -1;
    if (hm_process_identify(getpid(), &place.starter) != 0)
        return hm_fail(error, ESRCH, "this process is not in /proc");
    forget(job, step_id);
    remember(job, &place);
    if (hm_fair_join(config, job, cap_bytes, &why) != 0)
        hm_job_warn(job, "the fast tier is not shared by weight: %s", why.text);
    return hm_ledger_write(config, job, error);
}

int hm_migrator_launch(const struct hm_config *config, const struct hm_migrator_facts *facts,
                       struct hm_process *process, struct hm_error *error)
{
    char path[HM_CONFIG_PATH_MAX + 96];
    struct hm_migrator_command command;
    char *environment[] = {(char[]){"LC_ALL=C"}, NULL};
    struct hm_spawn spawn = {.path = PROGRAM, .arguments = command.word, .environment = environment, .errors = -1};
    if (hm_migrator_command(facts, &command, error) != 0)
        return -1;
    path_of(config, facts->job_id, facts->step_id, path, sizeof(path));
    hm_hurry_begin();
    spawn.extra = hm_progress_create(path, facts->step_id, error);
    hm_hurry_end();
    if (spawn.extra < 0)
        return -1;
    pid_t pid = hm_spawn_start(&spawn, error);
    close(spawn.extra);
    if (pid < 0) {
        hm_hurry_begin();
        unlink(path);
        hm_hurry_end();
        return -1;
    }
    /* It may have ended already. Then there is nothing to stop, and its figures say why. */
    if (hm_process_identify(pid, process) != 0)
        *process = (struct hm_process){0};
    return 0;
}

void hm_migrator_note(const struct hm_config *config, struct hm_job *job, uint32_t step_id,
                      const struct hm_process *process)
{
    const struct hm_step_migrator place = {.step_id = step_id, .process = process ? *process : (struct hm_process){0}};
    forget(job, step_id);
    if (place.process.pid > 0)
        remember(job, &place);
    else
        hm_fair_leave(config, job);
}

void hm_migrator_dismiss(const struct hm_process *process)
{
    int pidfd = process->pid > 0 ? (int)syscall(SYS_pidfd_open, process->pid, 0) : -1;
    if (pidfd < 0)
        return;
    if (hm_process_is_running(process))
        syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0);
    close(pidfd);
}

int hm_migrator_stop(const struct hm_process *process, struct hm_error *error)
{
    int status;
    int result = hm_process_stop(process, PATIENCE_MS, error);
    /* This fails, without harm, if the migrator was reaped before or is no child of this process. */
    if (process->pid > 0)
        waitpid(process->pid, &status, WNOHANG);
    return result;
}

bool hm_migrator_has_left(const struct hm_config *config, uint32_t job_id, uint32_t step_id)
{
    char path[HM_CONFIG_PATH_MAX + 96];
    hm_hurry_begin();
    bool has_left = access(path_of(config, job_id, step_id, path, sizeof(path)), F_OK) == 0;
    hm_hurry_end();
    return has_left;
}

/* Adds warnings that explain the figures: one if the migrator did not begin or was killed, and those it left itself. */
static void explain(struct hm_job *job, const struct hm_progress *progress, const char *step)
{
    char last[HM_MOMENT];
    hm_moment_format((int64_t)(progress->last_ns / 1000000000), last);
    if (progress->state == HM_PROGRESS_STARTING)
        hm_job_warn(job, "the migrator of step %s ended before it had begun", step);
    else if (progress->state == HM_PROGRESS_RUNNING)
        hm_job_warn(job, "the migrator of step %s was killed: its last figures are of %s", step,
                    progress->last_ns > 0 ? last : "an unknown time");
    for (uint32_t i = 0; i < progress->n_warnings; i++)
        hm_job_warn(job, "migrator of step %s: %s", step, progress->warning[i]);
}

/*
 * Removes the file whose figures are in the entry (`has_taken`), then clears that mark, so that the next run of the
 * step can use the file's name.
 */
static int remove_taken(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    char path[HM_CONFIG_PATH_MAX + 96];
    if (!job->has_taken)
        return 0;
    path_of(config, job->job_id, job->taken_step, path, sizeof(path));
    if (unlink(path) != 0 && errno != ENOENT)
        return hm_fail_errno(error, "cannot remove %.200s", path);
    job->has_taken = false;
    return hm_ledger_write(config, job, error);
}

/* Takes the figures of one step. Returns false if there is no file. */
static bool take(const struct hm_config *config, struct hm_job *job, uint32_t step_id)
{
    char path[HM_CONFIG_PATH_MAX + 96], step[16];
    struct hm_progress progress;
    struct hm_error error = {{0}};
    path_of(config, job->job_id, step_id, path, sizeof(path));
    hm_step_name(step_id, step, sizeof(step));
    int result = hm_progress_read(path, &progress, &error);
    if (result != 0 && errno == ENOENT)
        return false;
    if (result == 0) {
        progress.step_id = step_id; /* the step is what root says, whatever the user's process wrote to the file */
        hm_migration_add(&job->migration, &progress);
        explain(job, &progress, step);
    } else {
        hm_job_warn(job, "the figures of the migrator of step %s cannot be used: %s", step, error.text);
    }
    forget(job, step_id);
    job->has_taken = true;
    job->taken_step = step_id;
    return true;
}

int hm_migrator_collect(const struct hm_config *config, struct hm_job *job, uint32_t step_id, struct hm_error *error)
{
    /* An earlier call may have taken a file and been killed before it could remove it: remove that file now. */
    if (remove_taken(config, job, error) != 0)
        return -1;
    if (!take(config, job, step_id))
        return 0;
    hm_fair_leave(config, job);
    return hm_ledger_write(config, job, error) == 0 ? remove_taken(config, job, error) : -1;
}

int hm_migrator_collect_all(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    char folder[HM_CONFIG_PATH_MAX + 16];
    uint32_t job_id, step_id;
    struct dirent *item;
    int result = 0;
    DIR *names = opendir(hm_ledger_folder_path(config, folder, sizeof(folder)));
    while (names && result == 0 && (item = readdir(names)))
        if (hm_figurefile_is_name(item->d_name, &job_id, &step_id) && job_id == job->job_id)
            result = hm_migrator_collect(config, job, step_id, error);
    if (names)
        closedir(names);
    return result;
}
