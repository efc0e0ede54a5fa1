/* SPDX-License-Identifier: Apache-2.0 */
#include "orphans.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/size.h"
#include "finish.h"
#include "job/ledger/figurefile.h"
#include "job/ledger/ledger.h"
#include "job/ledger/log.h"
#include "job/programs/monitor.h"

#define ORPHANS HM_STOP_MOST /* monitors that one reap ends; the rest waits for the next reap */

/* Is the name a number followed by `suffix`? `number` gets that number. */
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
 * Checks only whether the entry's file exists. There may be a file of figures for each step, and users may run any
 * number of steps: reading the entry for each of these files would take long.
 */
static bool has_no_entry(int folder, uint32_t job_id)
{
    char name[16];
    snprintf(name, sizeof(name), "%u", job_id);
    return faccessat(folder, name, F_OK, 0) != 0 && errno == ENOENT;
}

static bool is_orphaned_file(int folder, const char *name)
{
    uint64_t id;
    uint32_t job_id, step_id;
    return is_numbered(name, ".draft", &id) ||
           (is_numbered(name, ".samples", &id) && has_no_entry(folder, (uint32_t)id)) ||
           (hm_figurefile_is_name(name, &job_id, &step_id) && has_no_entry(folder, job_id));
}

/*
 * Removes drafts of entries, and files of samples and of migrators' figures whose job has no entry. The caller holds
 * the lock: while it is held, nobody writes a draft.
 */
static void remove_orphaned_files(const struct hm_config *config)
{
    char folder[HM_CONFIG_PATH_MAX + 16];
    struct dirent *item;
    DIR *names = opendir(hm_ledger_folder_path(config, folder, sizeof(folder)));
    while (names && (item = readdir(names)))
        if (is_orphaned_file(dirfd(names), item->d_name) && unlinkat(dirfd(names), item->d_name, 0) != 0)
            hm_log(HM_LOG_ERROR, "cannot remove %s/%s: %s", folder, item->d_name, strerror(errno));
    if (names)
        closedir(names);
}

/* Is it a process of root's or of this user's? A user may run the monitor's program, too. */
static bool is_of(pid_t pid, uid_t uid)
{
    char text[1024];
    uid_t found[4]; /* the real one comes first */
    return hm_process_read(pid, "status", text, sizeof(text)) == 0 && hm_process_parse_uids(text, found) == 0 &&
           (found[0] == 0 || found[0] == uid);
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

/*
 * Lists the monitors that entries name, one pid for each entry (0: it names none). Each entry is read once, as a user
 * can start any number of processes that look like monitors. Returns the number of pids, or -1 where one may be
 * missing: an entry that cannot be read may name a monitor, and a monitor that is starting is not named yet. The caller
 * holds the lock, and frees *named.
 */
static int list_named(const struct hm_config *config, struct hm_job *job, pid_t **named)
{
    uint32_t *ids = NULL;
    int count = hm_ledger_list(config, &ids, NULL);
    *named = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(**named));
    if (!*named)
        count = -1;
    for (int i = 0; i < count; i++) {
        if (hm_ledger_read(config, ids[i], job, NULL) != 0 || hm_process_is_running(&job->monitor_starter))
            count = -1;
        else
            (*named)[i] = job->monitor.pid;
    }
    free(ids);
    return count;
}

static bool is_named(pid_t pid, const pid_t *named, int count)
{
    for (int i = 0; i < count; i++)
        if (named[i] == pid)
            return true;
    return false;
}

/*
 * Finds monitors that no entry names: those that run as root or as user `*uid`, or as any user if `uid` is NULL. The
 * caller holds the lock: while it is held, no monitor is added to an entry. Returns their number.
 */
static int find_orphaned_monitors(const struct hm_config *config, const uid_t *uid, struct hm_job *job,
                                  struct hm_process orphan[ORPHANS])
{
    pid_t *named = NULL;
    struct dirent *item;
    uint64_t pid;
    int found = 0;
    int count = list_named(config, job, &named);
    DIR *processes = count < 0 ? NULL : opendir("/proc");
    while (processes && found < ORPHANS && (item = readdir(processes))) {
        if (hm_size_parse_number(item->d_name, 1, INT32_MAX, &pid, NULL) != 0 || !runs_monitor(item->d_name) ||
            (uid && !is_of((pid_t)pid, *uid)) || is_named((pid_t)pid, named, count))
            continue;
        if (hm_process_identify((pid_t)pid, &orphan[found]) == 0)
            found++;
    }
    if (processes)
        closedir(processes);
    free(named);
    return found;
}

/* With the lock, removes orphaned files and finds the monitors to end. If there are any, the user that monitors run as
 * is looked up. That may take long, so the lock is released meanwhile, and then the monitors are looked for once more.
 * Returns their number. */
static int find_orphans(const struct hm_config *config, struct hm_job *job, struct hm_process orphan[ORPHANS],
                        struct hm_error *error)
{
    uid_t uid = 0;
    gid_t gid;
    int found = 0;
    int lock = hm_ledger_lock(config, error);
    if (lock >= 0) {
        remove_orphaned_files(config);
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

void hm_orphans_reap(const struct hm_config *config)
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
