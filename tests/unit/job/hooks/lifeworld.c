/* SPDX-License-Identifier: Apache-2.0 */
#include "lifeworld.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "base/look.h"
#include "base/process.h"
#include "base/spawn.h"
#include "job/ledger/log.h"
#include "job/ledger/unread.h"
#include "job/namespaces/namespaces.h"
#include "job/node/changes.h"
#include "unit/lib/faults.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define FIRST_PROGRAM 2000
#define PROGRAMS 64

struct world world;
static bool runs[PROGRAMS]; /* which of the programs that were started still run; the first has the pid FIRST_PROGRAM */
static int n_programs;

/* ------------------------------------------------------------------ the scratch folder */

static char *path_of(const char *name)
{
    return scratch_path("node/%s", name);
}

const char *world_setting(void)
{
    return path_of("setting");
}

const char *world_config_path(void)
{
    return path_of("hybridmem.conf");
}

int world_make(const char *lines)
{
    static const char *const folders[] = {
        "", "cgroup", "resctrl", "resctrl/info", "resctrl/info/L3_MON", "resctrl/mon_groups"};
    char text[1024];
    struct hm_error error = {0};
    memset(&world, 0, sizeof(world));
    memset(runs, 0, sizeof(runs));
    n_programs = 0;
    if (scratch_remove(path_of("")) != 0)
        return -1;
    for (size_t i = 0; i < N_ROWS(folders); i++)
        if (mkdir(path_of(folders[i]), 0711) != 0)
            return -1;
    scratch_write(path_of("resctrl/info/L3_MON/mon_features"), "mbm_total_bytes\n");
    scratch_write(world_setting(), UNCHANGED "\n");
    snprintf(text, sizeof(text),
             "run_dir = \"%s/node/run\"\nstate_dir = \"%s/node/state\"\nrecord_dir = \"%s/node/state/records\"\n"
             "resctrl = yes\nresctrl_dir = \"%s/node/resctrl\"\n%s\n",
             scratch, scratch, scratch, scratch, lines);
    scratch_write(world_config_path(), text);
    return hm_config_read(world_config_path(), true, &world.config, &error);
}

static char *cgroup_of(int job_id)
{
    return scratch_path("node/cgroup/job_%d", job_id);
}

void world_start(int job_id, bool has_cgroup)
{
    world.job_runs = world.job_runs || job_id == JOB;
    if (!has_cgroup || mkdir(cgroup_of(job_id), 0755) != 0)
        return;
    scratch_write(scratch_path("node/cgroup/job_%d/cgroup.events", job_id), "populated 1\n");
}

void world_stop(int job_id)
{
    world.job_runs = world.job_runs && job_id != JOB;
    scratch_remove(cgroup_of(job_id));
}

/* ------------------------------------------------------------------ functions that stand for others */

void __real_hm_config_defaults(struct hm_config *config);
void __wrap_hm_config_defaults(struct hm_config *config);
void __wrap_hm_log(enum hm_log_level level, const char *format, ...);
int __wrap_hm_process_identify(pid_t pid, struct hm_process *process);
bool __wrap_hm_process_is_running(const struct hm_process *process);
bool __wrap_hm_process_is_ending(const struct hm_process *process);
int __wrap_hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *error);
int __wrap_hm_process_stop_all(const struct hm_process *process, int n, int patience_ms, struct hm_error *error);
int __wrap_hm_cgroup_of_self(char *out, size_t size);
int __wrap_hm_changes_wanted(const struct hm_plan *plan, const struct hm_tiers *tiers, struct hm_wanted *wanted,
                             int room);

/* Where hybridmem.conf cannot be read, the built-in folders are used. Here these are folders of the node in the scratch
 * folder, as no test may use the machine's own. */
void __wrap_hm_config_defaults(struct hm_config *config)
{
    __real_hm_config_defaults(config);
    snprintf(config->run_dir, sizeof(config->run_dir), "%s", path_of("run"));
    snprintf(config->state_dir, sizeof(config->state_dir), "%s", path_of("state"));
    snprintf(config->record_dir, sizeof(config->record_dir), "%s", path_of("state/records"));
    snprintf(config->resctrl_dir, sizeof(config->resctrl_dir), "%s", path_of("resctrl"));
}

/* Logs nothing: the faults would make thousands of lines. */
void __wrap_hm_log(enum hm_log_level level, const char *format, ...)
{
    (void)level, (void)format;
}

static bool *program(pid_t pid)
{
    static bool none;
    return pid >= FIRST_PROGRAM && pid < FIRST_PROGRAM + PROGRAMS ? &runs[pid - FIRST_PROGRAM] : &none;
}

int world_programs(void)
{
    int n = 0;
    for (int i = 0; i < PROGRAMS; i++)
        n += runs[i];
    return n;
}

int __wrap_hm_process_identify(pid_t pid, struct hm_process *process)
{
    if (faults_runs(pid) && faults_meet(FAULT(FAULT_FILES), "the look at a process"))
        return -1;
    *process = (struct hm_process){.pid = pid, .start_time = 1};
    return 0;
}

bool __wrap_hm_process_is_running(const struct hm_process *process)
{
    return faults_runs(process->pid) || *program(process->pid) || __wrap_hm_process_is_ending(process);
}

bool __wrap_hm_process_is_ending(const struct hm_process *process)
{
    return world.holds_killed && faults_killed(process->pid);
}

int __wrap_hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *error)
{
    return __wrap_hm_process_stop_all(process, 1, patience_ms, error);
}

int __wrap_hm_process_stop_all(const struct hm_process *process, int n, int patience_ms, struct hm_error *error)
{
    (void)patience_ms, (void)error;
    faults_meet(FAULT(FAULT_KILL), "a stop of programs");
    for (int i = 0; i < n; i++)
        *program(process[i].pid) = false;
    return 0;
}

/* Starts a monitor or a migrator, which is only a number here. */
pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
    int number = faults_meet(FAULT(FAULT_KILL) | FAULT(FAULT_FILES) | FAULT(FAULT_MEMORY), "a program's start");
    if (number || n_programs == PROGRAMS)
        return hm_fail(error, number ? number : EAGAIN, "%s is not started", spawn->path);
    runs[n_programs] = true;
    return FIRST_PROGRAM + n_programs++;
}

/* Would write the user's copy of a record. There are no copies here. */
pid_t hm_spawn_call(const struct hm_spawn_call *call, struct hm_error *error)
{
    return hm_fail(error, EAGAIN, "no copy for user %u", call->uid);
}

/* The child that looks is played by its parent, and meets the same faults. */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    (void)size, (void)patience_ms;
    assert_int_equal(hm_heldlock_check("a process", NULL), 0);
    errno = faults_meet(FAULT(FAULT_KILL) | FAULT(FAULT_FILES) | FAULT(FAULT_MEMORY), "a look");
    if (errno == 0)
        errno = look(question, found);
    return errno == 0 ? 0 : -1;
}

int hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    (void)pid, (void)patience_ms;
    return -1;
}

int __wrap_hm_cgroup_of_self(char *out, size_t size)
{
    if (!world.has_cgroup)
        return hm_fail(NULL, ENOENT, "no cgroup v2");
    if (world.step) {
        /* while slurmstepd holds the lock, it may be in another cgroup (aside.h) */
        assert_int_equal(hm_heldlock_check("a look", NULL), 0);
        snprintf(out, size, "%s/%s/slurm", cgroup_of(JOB), world.step);
    } else {
        snprintf(out, size, "%s", path_of("cgroup/slurmd"));
    }
    return 0;
}

bool hm_unread_is_living(const struct hm_config *config, const char *cgroups, uint32_t job_id, unsigned grace_s)
{
    (void)config, (void)cgroups, (void)grace_s;
    return job_id == JOB && world.job_runs;
}

int __wrap_hm_changes_wanted(const struct hm_plan *plan, const struct hm_tiers *tiers, struct hm_wanted *wanted,
                             int room)
{
    (void)plan, (void)tiers, (void)room;
    world.was_planned = true;
    memset(&wanted[0], 0, sizeof(wanted[0]));
    snprintf(wanted[0].path, sizeof(wanted[0].path), "%s", world_setting());
    snprintf(wanted[0].value, sizeof(wanted[0].value), "%s", world.wanted);
    return 1;
}

int hm_namespaces_make(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    void (*meanwhile)(void) = world.meanwhile;
    (void)config, (void)error;
    faults_meet(FAULT(FAULT_KILL), "the making of namespaces");
    world.has_namespaces = true;
    faults_meet(FAULT(FAULT_KILL), "the making of namespaces");
    job->namespaces.n = 1;
    job->namespaces.each[0] = (struct hm_job_namespace){.name = "n", .device = "/dev/pmem0", .fs = "ext4", .bytes = 1};
    world.meanwhile = NULL;
    if (meanwhile)
        meanwhile();
    return 0;
}

int hm_namespaces_remove(const struct hm_config *config, struct hm_job *job, bool waits, struct hm_error *error)
{
    (void)config, (void)waits, (void)error;
    if (!job->namespaces.is_begun)
        return 0;
    faults_meet(FAULT(FAULT_KILL), "the removal of namespaces");
    world.has_namespaces = false;
    return 0;
}

/* Removes the namespaces of the job, if the ledger does not have it. */
int hm_namespaces_reap(const struct hm_config *config, const struct hm_namespaces_reap *how, struct hm_error *error)
{
    static struct hm_job job;
    (void)how;
    if (world.has_namespaces && hm_ledger_read(config, JOB, &job, error) != 0 && errno == ENOENT)
        world.has_namespaces = false;
    return 0;
}
