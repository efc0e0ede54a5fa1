/* SPDX-License-Identifier: Apache-2.0 */
#include "reap.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bootid.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/size.h"
#include "finish.h"
#include "job/ledger/figurefile.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "job/ledger/unread.h"
#include "job/namespaces/namespaces.h"
#include "job/node/mongroup.h"
#include "job/programs/monitor.h"
#include "job/store/store.h"
#include "slurm/scontrol.h"

#define SECOND_NS UINT64_C(1000000000)
#define UNSEEN_S 600         /* the least time for a job's first step: a site's own prolog comes before it */
#define ORPHANS HM_STOP_MOST /* monitors that one reap ends; the rest waits for the next reap */

/* Is the grace of a dead job over? Its age is by a clock that nobody can set: the clock of the day may be set back. */
static bool is_over(const struct hm_job *job, unsigned grace_s)
{
    return hm_boot_is_past(job->boot_id) || hm_clock_ns(CLOCK_BOOTTIME) - job->dead_boot_ns >= grace_s * SECOND_NS;
}

/*
 * Removes an entry that is torn, or written by a version of hybridmem that this one does not know, once its job is
 * dead. While the job may live, its entry stays, and so do its namespaces (namespaces/jobs.h). The job's own epilog
 * removes it, too (finish.h). Finding out whether the job lives takes long and does not hold the lock: so the entry is
 * read once more before it is removed.
 */
static void reap_unread(const struct hm_config *config, uint32_t job_id, unsigned grace_s, struct hm_job *job,
                        const char *why)
{
    struct hm_error error = {0};
    if (hm_unread_is_living(config, HM_CGROUPS, job_id, grace_s)) {
        hm_log(HM_LOG_WARNING, "%s: it stays while the job may live", why);
        return;
    }
    int lock = hm_ledger_lock(config, &error);
    if (lock >= 0 && hm_ledger_read(config, job_id, job, &error) != 0 && errno == EBADMSG) {
        hm_log(HM_LOG_ERROR, "%s: it is removed, what it had changed on the node is not known", error.text);
        hm_ledger_remove(config, job_id, NULL);
    }
    hm_ledger_unlock(lock);
}

/* Notes when the job was found dead, unless an earlier reap has noted it. */
static void note_death(struct hm_job *job)
{
    if (job->dead_ns == 0)
        job->dead_ns = hm_now_ns();
    if (job->dead_boot_ns == 0) /* an earlier version notes dead_ns alone */
        job->dead_boot_ns = hm_clock_ns(CLOCK_BOOTTIME);
}

/*
 * Looks for a job whose entry has no cgroup: its epilog may have been lost, and nothing else tells its end. Looking
 * takes long and does not hold the lock, so the entry is read once more. Returns true where the job's end was noted
 * now.
 */
static bool reap_unseen(const struct hm_config *config, uint32_t job_id, struct hm_job *job)
{
    struct hm_error error = {0};
    const int64_t start_ns = job->start_ns;
    bool is_dead = false;
    unsigned patience_s = config->reap_grace_s > UNSEEN_S ? config->reap_grace_s : UNSEEN_S;
    if (hm_unread_is_living(config, HM_CGROUPS, job_id, patience_s))
        return false;
    int lock = hm_ledger_lock(config, &error);
    if (lock >= 0 && hm_ledger_read(config, job_id, job, &error) == 0 && job->start_ns == start_ns && !job->cgroup[0] &&
        job->dead_ns == 0) {
        hm_log(HM_LOG_WARNING, "job %u has no process on this node: it is taken for dead", job_id);
        note_death(job);
        is_dead = hm_ledger_write(config, job, &error) == 0;
    }
    hm_ledger_unlock(lock);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "%s", error.text);
    return is_dead;
}

/* Looks at one job. A living job is left alone. Returns true where the job is dead and is to be finished now. */
static bool reap_entry(const struct hm_config *config, uint32_t job_id, unsigned grace_s, struct hm_job *job)
{
    struct hm_error error = {0};
    bool is_dead = false, is_unread = false, is_unseen = false;
    int lock = hm_ledger_lock(config, &error);
    if (lock < 0)
        return false;
    if (hm_ledger_read(config, job_id, job, &error) != 0) {
        is_unread = errno == EBADMSG;
    } else if (!hm_job_is_living(job)) {
        is_dead = true;
        note_death(job);
        hm_finish_undo(config, job);
        if (hm_ledger_write(config, job, &error) != 0)
            hm_log(HM_LOG_ERROR, "%s", error.text);
    } else {
        is_unseen = !job->cgroup[0];
    }
    hm_ledger_unlock(lock);
    if (is_unread)
        reap_unread(config, job_id, grace_s, job, error.text);
    if (!is_dead && !(is_unseen && reap_unseen(config, job_id, job)))
        return false;
    hm_finish_stop_helpers(job, HM_FINISH_ORPHAN_PATIENCE_MS);
    return is_over(job, grace_s);
}

/* Finishes the dead jobs of the ledger. Returns true where one of them leaves memory. */
static bool reap_entries(const struct hm_config *config, unsigned grace_s)
{
    struct hm_error error = {0};
    bool is_left = false;
    uint32_t *ids = NULL;
    struct hm_job *job = malloc(sizeof(*job));
    int lock = hm_ledger_lock(config, &error);
    int count = lock < 0 ? -1 : hm_ledger_list(config, &ids, &error);
    hm_ledger_unlock(lock);
    if (count < 0)
        hm_log(HM_LOG_ERROR, "reap: %s", error.text);
    for (int i = 0; job && i < count; i++)
        if (reap_entry(config, ids[i], grace_s, job) &&
            hm_finish_job(config, ids[i], "the epilog did not run: the job's end is when it was found dead", NULL) == 1)
            is_left = true;
    free(ids);
    free(job);
    return is_left;
}

/* Does the name end in `suffix`? `number` is the number before it. */
static bool is_numbered(const char *name, const char *suffix, uint64_t *number)
{
    char stem[16];
    size_t length = strlen(name), tail = strlen(suffix);
    if (length <= tail || length - tail >= sizeof(stem) || strcmp(name + length - tail, suffix) != 0)
        return false;
    memcpy(stem, name, length - tail);
    stem[length - tail] = '\0';
    return hm_size_parse_number(stem, 0, UINT32_MAX, number, NULL) == 0;
}

/*
 * Removes drafts of entries, and files of samples and of migrators' figures whose job has no entry. Wants the lock:
 * while it is held, nobody writes a draft.
 */
static void remove_orphaned_files(const struct hm_config *config, struct hm_job *job)
{
    char folder[HM_CONFIG_PATH_MAX + 16];
    struct dirent *item;
    uint64_t id;
    uint32_t job_id, step_id;
    DIR *names = opendir(hm_ledger_folder_path(config, folder, sizeof(folder)));
    while (names && (item = readdir(names))) {
        bool is_orphan = is_numbered(item->d_name, ".draft", &id) ||
                         (is_numbered(item->d_name, ".samples", &id) &&
                          hm_ledger_read(config, (uint32_t)id, job, NULL) != 0 && errno == ENOENT) ||
                         (hm_figurefile_is_name(item->d_name, &job_id, &step_id) &&
                          hm_ledger_read(config, job_id, job, NULL) != 0 && errno == ENOENT);
        if (is_orphan && unlinkat(dirfd(names), item->d_name, 0) != 0)
            hm_log(HM_LOG_ERROR, "cannot remove %s/%s: %s", folder, item->d_name, strerror(errno));
    }
    if (names)
        closedir(names);
}

/* Is it a process of root's or of this user's? A user may run the monitor's program, too. */
static bool is_of(pid_t pid, uid_t uid)
{
    char text[1024];
    unsigned real;
    /* The kernel escapes a newline in the name, which is the only text before this line. */
    const char *line = hm_process_read(pid, "status", text, sizeof(text)) == 0 ? strstr(text, "\nUid:") : NULL;
    return line && sscanf(line, " Uid: %u", &real) == 1 && (real == 0 || real == uid);
}

/* Does the process run our monitor's program? " (deleted)" follows the path where an upgrade has replaced the file. */
static bool runs_monitor(const char *pid)
{
    char path[64], program[512];
    const char *ours = hm_monitor_program();
    snprintf(path, sizeof(path), "/proc/%.16s/exe", pid);
    ssize_t length = readlink(path, program, sizeof(program) - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    return strncmp(program, ours, strlen(ours)) == 0 && (program[strlen(ours)] == '\0' || program[strlen(ours)] == ' ');
}

static bool has_monitor(const struct hm_config *config, const uint32_t *ids, int count, pid_t pid, struct hm_job *job)
{
    for (int i = 0; i < count; i++)
        if (hm_ledger_read(config, ids[i], job, NULL) != 0 || job->monitor.pid == pid ||
            hm_process_is_running(&job->monitor_starter))
            return true; /* an entry that cannot be read may name this monitor; one that is starting is not named yet */
    return false;
}

/*
 * Finds monitors that no entry names, of root's and of user `*uid`; where `uid` is NULL, of any user. Wants the lock:
 * while it is held, no monitor gets its name into an entry. Returns their number.
 */
static int find_orphaned_monitors(const struct hm_config *config, const uid_t *uid, struct hm_job *job,
                                  struct hm_process orphan[ORPHANS])
{
    uint32_t *ids = NULL;
    struct dirent *item;
    uint64_t pid;
    int found = 0;
    int count = hm_ledger_list(config, &ids, NULL);
    DIR *processes = count < 0 ? NULL : opendir("/proc");
    while (processes && found < ORPHANS && (item = readdir(processes))) {
        if (hm_size_parse_number(item->d_name, 1, INT32_MAX, &pid, NULL) != 0 || !runs_monitor(item->d_name) ||
            (uid && !is_of((pid_t)pid, *uid)) || has_monitor(config, ids, count, (pid_t)pid, job))
            continue;
        if (hm_process_identify((pid_t)pid, &orphan[found]) == 0)
            found++;
    }
    if (processes)
        closedir(processes);
    free(ids);
    return found;
}

/* Finds the monitors to end, with the lock. The monitors' user is looked up where there is any: it may take long, so it
 * does not hold the lock, and what was found is looked for once more. Returns their number. */
static int find_orphans(const struct hm_config *config, struct hm_job *job, struct hm_process orphan[ORPHANS],
                        struct hm_error *error)
{
    uid_t uid = 0;
    gid_t gid;
    int found = 0;
    int lock = hm_ledger_lock(config, error);
    if (lock >= 0) {
        remove_orphaned_files(config, job);
        found = find_orphaned_monitors(config, NULL, job, orphan);
    }
    hm_ledger_unlock(lock);
    if (found == 0)
        return 0;
    if (hm_monitor_identity(&uid, &gid, NULL) != 0)
        uid = 0;
    lock = hm_ledger_lock(config, error);
    found = lock >= 0 ? find_orphaned_monitors(config, &uid, job, orphan) : 0;
    hm_ledger_unlock(lock);
    return found;
}

static void reap_orphans(const struct hm_config *config)
{
    struct hm_error error = {0};
    struct hm_process orphan[ORPHANS];
    struct hm_job *job = malloc(sizeof(*job));
    int found = job ? find_orphans(config, job, orphan, &error) : 0;
    free(job);
    for (int i = 0; i < found; i++)
        hm_log(HM_LOG_WARNING, "ending monitor %d: it belongs to no job", (int)orphan[i].pid);
    if (hm_process_stop_all(orphan, found, HM_FINISH_ORPHAN_PATIENCE_MS, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
}

/*
 * Logs that namespaces of no job were not removed. If their memory could not be taken back (`is_left`), the node is
 * drained, as at a job's own end (finish.c): that end may have crashed, or its drain may have failed, and the memory
 * must not be given to anybody. A wipe that only takes longer, or a failure to look for namespaces, does not drain the
 * node.
 */
static void tell_failure(const struct hm_reap *reap, bool is_left, const struct hm_error *error)
{
    struct hm_error why = {0};
    char reason[HM_ERROR_TEXT];
    hm_log(HM_LOG_ERROR, "namespaces of no job were not removed: %s", error->text);
    if (!is_left || !reap->node)
        return;
    snprintf(reason, sizeof(reason), "hybridmem: persistent memory of no job was not given back: %.160s", error->text);
    if (hm_scontrol_drain(reap->node, reason, &why) != 0)
        hm_log(HM_LOG_ERROR, "node %s is not drained: %s", reap->node, why.text);
}

bool hm_reap(const struct hm_config *config, const struct hm_reap *reap, struct hm_error *left)
{
    struct hm_namespaces_reap namespaces = reap->namespaces;
    if (reap_entries(config, reap->grace_s))
        namespaces.has_left = true;
    reap_orphans(config);
    if (reap->is_config_known)
        hm_mongroup_reap(config);
    int result = reap->is_config_known ? hm_namespaces_reap(config, &namespaces, left) : 0;
    if (result < 0)
        tell_failure(reap, errno == ENOTRECOVERABLE, left);
    return result == 1;
}

void hm_reap_records(const struct hm_config *config)
{
    struct hm_error error = {0};
    int appended = hm_store_retry(config, &error);
    if (appended > 0)
        hm_log(HM_LOG_INFO, "%d records that were kept back are written", appended);
    else if (appended < 0)
        hm_log(HM_LOG_WARNING, "records are still kept back: %s", error.text);
}
