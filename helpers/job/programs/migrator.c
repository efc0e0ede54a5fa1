/* SPDX-License-Identifier: Apache-2.0 */
#include "migrator.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
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
#include "slurm/stepname.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-migrator"
#define PATIENCE_MS 10000 /* time to write its last figures and end; once killed, it has the same time again */

/*
 * Adds an option and its value. If there is no room, `used` becomes the size of `text`, which hm_migrator_command
 * checks at the end.
 */
__attribute__((format(printf, 3, 4))) static void add(struct hm_migrator_command *command, const char *name,
                                                      const char *format, ...)
{
    char value[HM_JOB_CGROUP + 32];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    const char *const parts[] = {name, value};
    for (int i = 0; i < 2; i++) {
        size_t bytes = strlen(parts[i]) + 1;
        if (length < 0 || (size_t)length >= sizeof(value) || command->count == HM_MIGRATOR_WORDS ||
            bytes > sizeof(command->text) - command->used) {
            command->used = sizeof(command->text);
            return;
        }
        command->word[command->count++] = memcpy(command->text + command->used, parts[i], bytes);
        command->word[command->count] = NULL;
        command->used += bytes;
    }
}

static void add_nodes(struct hm_migrator_command *command, const char *name, const struct hm_set *nodes)
{
    char list[HM_JOB_CGROUP];
    add(command, name, "%s", hm_set_format(nodes, list, sizeof(list)));
}

/* Adds a number, unless it is 0, which means that it was not given. */
static void add_number(struct hm_migrator_command *command, const char *name, uint64_t number)
{
    if (number > 0)
        add(command, name, "%llu", (unsigned long long)number);
}

static void add_ratio(struct hm_migrator_command *command, const char *name, double ratio)
{
    if (ratio > 0)
        add(command, name, "%.9g", ratio);
}

int hm_migrator_command(const struct hm_migrator_facts *facts, struct hm_migrator_command *command,
                        struct hm_error *error)
{
    const struct hm_plan_migration *plan = facts->plan;
    const struct hm_migrate_keys *keys = &plan->keys;
    memset(command, 0, sizeof(*command));
    command->word[command->count++] = hm_text_copy(command->text, "hybridmem-migrator", sizeof(command->text));
    command->used = strlen(command->text) + 1;
    add(command, "--cgroup", "%s/user", facts->step_cgroup);
    add(command, "--guard", "%s/user/cgroup.events", facts->step_cgroup);
    add(command, "--progress-fd", "3");
    add(command, "--uid", "%u", facts->uid);
    add(command, "--gid", "%u", facts->gid);
    add(command, "--job", "%u", facts->job_id);
    add(command, "--step", "%u", facts->step_id);
    add_nodes(command, "--fast-nodes", &plan->fast_nodes);
    add_nodes(command, "--slow-nodes", &plan->slow_nodes);
    add(command, "--algorithm", "%s", hm_algorithm_name(keys->algorithm));
    add(command, "--source", "%s", keys->source);
    add(command, "--hot-by", "%s", hm_hot_by_name(keys->hot_by));
    add(command, "--interval", "%llums", (unsigned long long)keys->interval_ms);
    add(command, "--overhead", "%.9g%%", keys->overhead_percent);
    add_number(command, "--cap", plan->cap_bytes);
    add_number(command, "--reserve", facts->reserve_bytes);
    add_number(command, "--bins", keys->bins);
    add_number(command, "--period", keys->period);
    add_number(command, "--rate", keys->rate_bytes);
    add_number(command, "--end", facts->end_s);
    add_ratio(command, "--lat-read", plan->read_latency);
    add_ratio(command, "--lat-write", plan->write_latency);
    if (facts->broker)
        add(command, "--broker", "%s", facts->broker);
    return command->used < sizeof(command->text) ? 0
                                                 : hm_fail(error, E2BIG, "the command line of %s is too long", PROGRAM);
}

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

int hm_migrator_begin(const struct hm_config *config, struct hm_job *job, uint32_t step_id, struct hm_error *error)
{
    struct hm_step_migrator place = {.step_id = step_id};
    /* Slurm can start a step again. */
    if (hm_migrator_collect(config, job, step_id, error) != 0)
        return -1;
    if (hm_process_identify(getpid(), &place.starter) != 0)
        return hm_fail(error, ESRCH, "this process is not in /proc");
    forget(job, step_id);
    remember(job, &place);
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

void hm_migrator_note(struct hm_job *job, uint32_t step_id, const struct hm_process *process)
{
    const struct hm_step_migrator place = {.step_id = step_id, .process = process ? *process : (struct hm_process){0}};
    forget(job, step_id);
    if (place.process.pid > 0)
        remember(job, &place);
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
