/* SPDX-License-Identifier: Apache-2.0 */
#include "profiled.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/installed.h"
#include "base/left.h"
#include "base/size.h"
#include "job/programs/damonstart.h"
#include "sitesprogram.h"
#include "slurm/stepname.h"
#include "taskparts.h"

#define RESULTS (HM_OUTCOME_RECORDERS * HM_PROFILED_RESULT) /* bytes of all recorders' lines */
#define PATIENCE_MS 30000                                   /* for profiles: 20 s for its turn, and to write it */
#define PAUSE_NS 20000000L
#define NODES 1024
#define LOOKERS 4     /* recorders of a step on a node that may have a kdamond each: the broker has 16 */
#define MOST_WORDS 64 /* of the program's command, for the profile */

bool hm_profiled_may_look(const struct hm_step *step)
{
    return !step->request.guide.online && step->n_tasks <= LOOKERS;
}

int hm_profiled_open_results(void)
{
    int fd = memfd_create("profiles", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (ftruncate(fd, RESULTS + HM_LEFT_BEHIND) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int take_text(const char *value, char *out, size_t size)
{
    size_t length = strlen(value);
    if (value[0] != '/' || length >= size)
        return -1;
    memcpy(out, value, length + 1);
    return 0;
}

static int take_line(void *data, const char *key, const char *value)
{
    struct hm_profiled_start *start = data;
    if (strcmp(key, "profile") == 0)
        return take_text(value, start->file, sizeof(start->file));
    if (strcmp(key, HM_ISOLATE_SITES) == 0)
        return take_text(value, start->folder, sizeof(start->folder));
    if (strcmp(key, "recorder") != 0)
        return 0; /* of a later version */
    return hm_sitesprogram_take_pid(value, &start->pid);
}

int hm_profiled_parse(char *printed, struct hm_profiled_start *start)
{
    *start = (struct hm_profiled_start){.pid = 0};
    if (hm_sitesprogram_parse(printed, take_line, start) < 0)
        return -1;
    return start->file[0] && start->folder[0] && start->pid > 0 ? 0 : -1;
}

/* Adds the words by which the recorder guides. The step's tasks on this node share its fast memory. Returns how many,
 * or -1 with a text. */
static int add_guide(const struct hm_step *step, const struct hm_plan *plan, const char **words, struct hm_error *error)
{
    static char nodes[NODES], bytes[24], latency[24];
    int n = 0;
    if (hm_isolate_nodes(plan, &step->tiers.topology, nodes, sizeof(nodes)) != 0)
        return hm_fail(error, ENAMETOOLONG, "the tiers have more nodes than can be named");
    snprintf(bytes, sizeof(bytes), "%" PRIu64, plan->guide.fast_bytes / (step->n_tasks > 0 ? step->n_tasks : 1));
    snprintf(latency, sizeof(latency), "%.9g", plan->guide.read_latency);
    words[n++] = "--guide";
    words[n++] = nodes;
    words[n++] = "--fast";
    words[n++] = bytes;
    if (plan->guide.read_latency > 0) {
        words[n++] = "--latency";
        words[n++] = latency;
    }
    if (plan->request.guide.packer[0]) {
        words[n++] = "--packer";
        words[n++] = plan->request.guide.packer;
    }
    return n;
}

/* Runs the recorder. Returns 0, or -1 with a text. */
static int start_recorder(const struct hm_step *step, const struct hm_plan *plan, struct hm_outcome *outcome,
                          const struct hm_environment *environment, struct hm_profiled_start *start,
                          struct hm_error *error)
{
    static char printed[4 * PATH_MAX];
    char broker[HM_CONFIG_PATH_MAX + 16], program[PATH_MAX], said[HM_ERROR_TEXT], name[48], pid[16], overhead[24],
        rate[24], part[16];
    const char *words[MOST_WORDS + 26] = {"hybridmem-sites", "record", "--name", name, "--pid", pid};
    double percent = plan ? plan->guide.overhead_percent : step->request.migrate.overhead_percent;
    int n = 6, more = plan ? add_guide(step, plan, words + n, error) : 0;
    __atomic_fetch_add(&outcome->n_begun, 1, __ATOMIC_ACQ_REL);
    if (more < 0)
        return -1;
    n += more;
    if (hm_sitesprogram_name(environment, program, error) < 0)
        return -1;
    snprintf(name, sizeof(name), "%u.%s", step->job_id, hm_step_name(step->step_id, part, sizeof(part)));
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    if (percent > 0) {
        snprintf(overhead, sizeof(overhead), "%.2f%%", percent);
        words[n++] = "--overhead";
        words[n++] = overhead;
    }
    if (step->request.input[0]) {
        words[n++] = "--input-class";
        words[n++] = step->request.input;
    }
    if (step->request.profile.period > 0) {
        snprintf(rate, sizeof(rate), "1/%" PRIu64, step->request.profile.period);
        words[n++] = "--rate";
        words[n++] = rate;
    }
    if (step->config.lend_samples || hm_profiled_may_look(step)) {
        words[n++] = "--broker";
        words[n++] = hm_damon_socket_path(&step->config, broker, sizeof(broker));
    }
    words[n++] = "--";
    words[n++] = program;
    for (int i = 1; i < MOST_WORDS && environment->words[i]; i++)
        words[n++] = environment->words[i];
    if (hm_sitesprogram_run(environment, words, step->results, printed, sizeof(printed), said, error) < 0)
        return -1;
    if (!printed[0])
        return hm_fail(error, ENODATA, "%s", said[0] ? said : "its program cannot be profiled");
    if (hm_profiled_parse(printed, start) < 0)
        return hm_fail(error, EBADMSG, "%s has printed what this version does not know", HM_SITES_PROGRAM);
    return 0;
}

void hm_profiled_note(struct hm_outcome *outcome, uint32_t pid)
{
    struct hm_process process;
    uint32_t at = __atomic_fetch_add(&outcome->n_recorders, 1, __ATOMIC_ACQ_REL);
    if (at < HM_OUTCOME_RECORDERS && hm_process_identify((pid_t)pid, &process) == 0)
        outcome->recorder[at] = process;
}

void hm_profiled_leave(struct hm_outcome *outcome, const char *why)
{
    if (!outcome || !hm_outcome_begin_part(&outcome->has_unprofiled))
        return;
    hm_text_copy(outcome->unprofiled, why, sizeof(outcome->unprofiled));
    __atomic_store_n(&outcome->has_unprofiled, 1, __ATOMIC_RELEASE);
}

int hm_profiled_begin(const struct hm_step *step, const struct hm_plan *plan, struct hm_outcome *outcome,
                      const struct hm_environment *environment, struct hm_error *error)
{
    static struct hm_profiled_start start;
    const char *what = plan ? "guided" : "profiled";
    if (step->step_id == HM_STEP_INTERACTIVE)
        hm_fail(error, ENOTSUP, "the shell of an interactive job is not %s: what it starts by srun is", what);
    else if (!outcome || step->results <= 0)
        hm_fail(error, ENOMEM, "no memory for the results of recorders");
    else if (access(hm_sites_library(), R_OK) != 0)
        hm_fail_errno(error, "%s", hm_sites_library());
    else if (start_recorder(step, plan, outcome, environment, &start, error) == 0) {
        hm_profiled_note(outcome, start.pid);
        if (hm_isolate_enter_profiled(environment, start.folder, step->job_id, error) == 0)
            return 0;
    }
    hm_profiled_leave(outcome, error->text);
    return -1;
}

/* ---------------------------------------------------------- the end */

/* Is this a process of the job's user, in the job's cgroup where that is known? Tasks can write any number. */
static bool is_of_job(const struct hm_step *step, const struct hm_process *process)
{
    char status[1024], cgroup[HM_JOB_CGROUP];
    size_t length = strlen(step->cgroup);
    uid_t uid[4];
    if (process->pid <= 0 || process->pid > HM_MOST_PID || !hm_process_is_running(process) ||
        hm_process_read(process->pid, "status", status, sizeof(status)) != 0 || hm_process_parse_uids(status, uid) != 0)
        return false;
    for (int i = 0; i < 4; i++)
        if (uid[i] != step->uid)
            return false;
    return length == 0 || (hm_cgroup_of(process->pid, cgroup, sizeof(cgroup)) == 0 &&
                           strncmp(cgroup, step->cgroup, length) == 0 && cgroup[length] == '/');
}

/* Sends a signal to those recorders that still run. `own` gets these. Returns how many. */
static uint32_t tell(const struct hm_step *step, const struct hm_process *recorder, uint32_t n, int number,
                     struct hm_process *own)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct hm_process process = recorder[i]; /* a copy, as tasks can write to the other */
        /* Open before the check, so that it is not of a later process with this pid. */
        int pidfd = process.pid > 0 ? (int)syscall(SYS_pidfd_open, process.pid, 0) : -1;
        if (pidfd < 0)
            continue;
        if (is_of_job(step, &process)) {
            syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
            own[found++] = process;
        }
        close(pidfd);
    }
    return found;
}

static bool is_any_running(const struct hm_process *recorder, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (hm_process_is_running(&recorder[i]))
            return true;
    return false;
}

/* A recorder that is stopped goes on; one that does not end in time is killed, as nobody reads what it leaves. */
static void wait_for_recorders(const struct hm_step *step, const struct hm_outcome *outcome, uint32_t n)
{
    static struct hm_process own[HM_OUTCOME_RECORDERS];
    int64_t end_ms = hm_clock_ms(CLOCK_MONOTONIC) + PATIENCE_MS;
    n = tell(step, outcome->recorder, n, SIGCONT, own);
    while (is_any_running(own, n) && hm_clock_ms(CLOCK_MONOTONIC) < end_ms)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    tell(step, own, n, SIGKILL, own);
}

/* The value of the first line with this key, "" where there is none. */
static void find_line(const char *results, const char *key, char *out, size_t size)
{
    size_t length = strlen(key);
    out[0] = '\0';
    for (const char *line = results; *line; line = hm_left_next(line))
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            size_t found = strcspn(line + length + 1, "\n");
            snprintf(out, size, "%.*s", (int)(found < size ? found : size - 1), line + length + 1);
            return;
        }
}

/* How many lines begin with the key, which ends in a space. */
static uint32_t count(const char *results, const char *key)
{
    uint32_t n = 0;
    for (const char *line = results; *line; line = hm_left_next(line))
        n += strncmp(line, key, strlen(key)) == 0;
    return n;
}

static void tell_lacking(struct hm_profiled *profiled, uint32_t n_lacking, uint32_t n)
{
    snprintf(profiled->why, sizeof(profiled->why), "%u of %u %s", n_lacking, n,
             profiled->method == HM_METHOD_MBI ? "processes that count on this node left no result"
                                               : "recorders on this node left no profile");
}

void hm_profiled_judge(const char *results, uint32_t n, struct hm_profiled *profiled)
{
    uint32_t n_kept = count(results, "profile ");
    uint32_t n_lines = n_kept + count(results, "failed ") + count(results, "counted ");
    char number[24];
    find_line(results, "profile", profiled->file, sizeof(profiled->file));
    if (profiled->file[0] != '/')
        profiled->file[0] = '\0';
    find_line(results, "unrated", profiled->unrated, sizeof(profiled->unrated));
    if (count(results, "unsampled ") == n_kept) /* the profile of several tasks has the accesses of all */
        find_line(results, "unsampled", profiled->unsampled, sizeof(profiled->unsampled));
    find_line(results, "period", number, sizeof(number));
    if (hm_size_parse_number(number, 1, UINT64_MAX, &profiled->period, NULL) < 0)
        profiled->period = 0;
    find_line(results, "failed", profiled->why, sizeof(profiled->why));
    if (!profiled->why[0] && n_lines < n)
        tell_lacking(profiled, n - n_lines, n);
}

/* Puts what came of guidance online into the outcome, which tasks can write to no more. */
static void keep_guided(const struct hm_step *step, const char *results, const struct hm_profiled *profiled,
                        struct hm_outcome *outcome)
{
    struct hm_guided *guided = &outcome->guided;
    *guided = (struct hm_guided){.is_known = true, .is_online = true, .step_id = step->step_id};
    bool is_told = hm_profiled_read_guided(results, guided);
    hm_text_copy(guided->profile, profiled->file, sizeof(guided->profile));
    if (!is_told)
        hm_text_copy(guided->why, profiled->why[0] ? profiled->why : "no task was guided", sizeof(guided->why));
    __atomic_store_n(&outcome->has_guided, 1, __ATOMIC_RELEASE);
}

void hm_profiled_end(const struct hm_step *step, struct hm_outcome *outcome, int status, struct hm_profiled *profiled)
{
    static char results[RESULTS + 1];
    uint32_t n = __atomic_load_n(&outcome->n_recorders, __ATOMIC_ACQUIRE);
    uint32_t waited = n < HM_OUTCOME_RECORDERS ? n : HM_OUTCOME_RECORDERS;
    *profiled = (struct hm_profiled){.is_known = true, .method = step->request.profile.method};
    if (hm_request_is_mbi(&step->request)) {
        hm_text_copy(profiled->plan, step->request.profile.plan, sizeof(profiled->plan));
        profiled->run = step->array_task_id;
        if (n > 0 && hm_ended_tell(step->results, status) != 0)
            waited = 0; /* it does not end then, and leaves no result */
    }
    wait_for_recorders(step, outcome, waited);
    if (n > 0) {
        size_t most = (size_t)(n < HM_OUTCOME_RECORDERS ? n : HM_OUTCOME_RECORDERS) * HM_PROFILED_RESULT;
        (void)hm_left_read(step->results > 0 ? step->results : -1, results, most + 1);
        hm_profiled_judge(results, n, profiled);
    }
    if (step->refusal[0])
        hm_text_copy(profiled->why, step->refusal, sizeof(profiled->why));
    if (!profiled->why[0] && __atomic_load_n(&outcome->has_unprofiled, __ATOMIC_ACQUIRE) == 1) {
        memcpy(profiled->why, outcome->unprofiled, sizeof(profiled->why));
        profiled->why[sizeof(profiled->why) - 1] = '\0';
    }
    uint32_t n_begun = __atomic_load_n(&outcome->n_begun, __ATOMIC_ACQUIRE);
    if (!profiled->why[0] && n_begun > n) /* tasks that were killed before theirs had started */
        tell_lacking(profiled, n_begun - n, n_begun);
    if (step->request.guide.online)
        keep_guided(step, n > 0 ? results : "", profiled, outcome);
}
