/* SPDX-License-Identifier: Apache-2.0 */
#include "orphans.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/look.h"
#include "base/process.h"
#include "base/size.h"
#include "finish.h"
#include "job/ledger/figurefile.h"
#include "job/ledger/ledger.h"
#include "job/ledger/log.h"
#include "job/ledger/others.h"
#include "job/ledger/table.h"
#include "job/programs/monitor.h"

#define ORPHANS HM_STOP_MOST /* monitors that one reap ends; the rest waits for the next reap */
#define MONITORS 1024        /* processes that one look finds */
#define LOOK_MS 5000

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
           ((is_numbered(name, ".samples", &id) || is_numbered(name, ".epilog", &id)) &&
            has_no_entry(folder, (uint32_t)id)) ||
           (hm_figurefile_is_name(name, &job_id, &step_id) && has_no_entry(folder, job_id));
}

/*
 * Removes drafts of entries, and files of samples, of epilogs and of migrators' figures whose job has no entry. The
 * caller holds the lock: while it is held, nobody writes a draft.
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

/* Is the process root's or the user's, by its folder in /proc? A monitor is root's until it has become the user that
 * monitors run as. */
static bool is_folder_of(int processes, const char *pid, uid_t uid)
{
    struct stat status;
    return fstatat(processes, pid, &status, AT_SYMLINK_NOFOLLOW) == 0 && (status.st_uid == 0 || status.st_uid == uid);
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

/* Monitors that entries name. */
struct named {
    int n, room;
    pid_t *pid;
    bool is_whole; /* false: one may be missing */
};

static const struct hm_field part_table[] = {
    HM_FIELD(hm_job, job_id),
    HM_FIELD_GROUP_OF(hm_job, monitor, hm_process_table),
    HM_FIELD_GROUP_OF(hm_job, monitor_starter, hm_process_table),
    {.name = NULL},
};
static const struct hm_fields named_part = {.title = "job", .table = part_table, .most = HM_ENTRY_MOST};

/* An entry that cannot be read may name a monitor, and a monitor that is starting is not named yet. */
static bool add_named(void *data, uint32_t id, const struct hm_job *job)
{
    struct named *named = data;
    (void)id;
    named->is_whole = job && !hm_process_is_running(&job->monitor_starter);
    if (named->is_whole && named->n == named->room) {
        pid_t *more = realloc(named->pid, (size_t)(named->room + 64) * sizeof(*more));
        named->is_whole = more != NULL;
        named->room += more ? 64 : 0;
        named->pid = more ? more : named->pid;
    }
    if (named->is_whole)
        named->pid[named->n++] = job->monitor.pid;
    return named->is_whole;
}

static bool is_named(pid_t pid, const struct named *named)
{
    for (int i = 0; i < named->n; i++)
        if (named->pid[i] == pid)
            return true;
    return false;
}

/* Whose processes to look at. */
struct whose {
    bool is_anybodys;
    uid_t uid; /* else root's, and this user's */
};

/* Processes that run the monitor's program. */
struct monitors {
    int n;
    struct hm_process process[MONITORS];
};

/* Is this a monitor of those that are looked for? `name` is the process's name in /proc. Fills `process` if so. */
static bool is_monitor(const struct whose *whose, int processes, const char *name, struct hm_process *process)
{
    const pid_t pid = (pid_t)strtol(name, NULL, 10);
    return (whose->is_anybodys || is_folder_of(processes, name, whose->uid)) && runs_monitor(name) &&
           (whose->is_anybodys || is_of(pid, whose->uid)) && hm_process_identify(pid, process) == 0;
}

/* Fills `found`, a struct monitors, with processes of `question`, a struct whose. Runs in a child process, as a user
 * can make it take very long to look into their processes' folders in /proc. Returns 0 or an errno. */
static int look(const void *question, void *found)
{
    const struct whose *whose = question;
    struct monitors *monitors = found;
    const char *pid;
    DIR *processes = opendir("/proc");
    if (!processes)
        return errno;
    while (monitors->n < MONITORS && (pid = hm_process_next(processes)))
        monitors->n += is_monitor(whose, dirfd(processes), pid, &monitors->process[monitors->n]);
    closedir(processes);
    return 0;
}

/*
 * Finds monitors that no entry names. First the running monitors are listed, without the lock. Only then the entries
 * are read: so a monitor that is started meanwhile is not in the list. A user's process can make the look run out of
 * time. Monitors that come after it in /proc are then left to the next reap. Returns the number of monitors found.
 */
static int find_orphaned_monitors(const struct hm_config *config, const struct whose *whose,
                                  struct hm_process orphan[ORPHANS])
{
    struct named named = {.is_whole = true};
    int found = 0;
    struct monitors *monitors = calloc(1, sizeof(*monitors));
    if (monitors)
        (void)hm_look(look, whose, monitors, sizeof(*monitors), LOOK_MS);
    int lock = monitors && monitors->n > 0 ? hm_ledger_lock(config, NULL) : -1;
    bool is_known = lock >= 0 && hm_ledger_visit_others(config, HM_NO_ID, &named_part, add_named, &named, NULL) == 0;
    hm_ledger_unlock(lock);
    for (int i = 0; is_known && named.is_whole && i < monitors->n && found < ORPHANS; i++)
        if (!is_named(monitors->process[i].pid, &named))
            orphan[found++] = monitors->process[i];
    free(named.pid);
    free(monitors);
    return found;
}

/* Removes orphaned files, and finds the monitors to end. Only if there seem to be any, the user that monitors run as is
 * looked up, and the processes of root and of that user are searched again. Returns the number of monitors to end. */
static int find_orphans(const struct hm_config *config, struct hm_process orphan[ORPHANS])
{
    struct hm_error error = {0};
    struct whose whose = {.is_anybodys = true};
    gid_t gid;
    int lock = hm_ledger_lock(config, &error);
    if (lock < 0) {
        hm_log(HM_LOG_ERROR, "files and monitors of no job are left: %s", error.text);
        return 0;
    }
    remove_orphaned_files(config);
    hm_ledger_unlock(lock);
    if (find_orphaned_monitors(config, &whose, orphan) == 0)
        return 0;
    whose.is_anybodys = false;
    if (hm_monitor_identity(&whose.uid, &gid, NULL) != 0)
        whose.uid = 0;
    return find_orphaned_monitors(config, &whose, orphan);
}

void hm_orphans_reap(const struct hm_config *config)
{
    struct hm_error error = {0};
    struct hm_process orphan[ORPHANS];
    int found = find_orphans(config, orphan);
    for (int i = 0; i < found; i++)
        hm_log(HM_LOG_WARNING, "ending monitor %d: it belongs to no job", (int)orphan[i].pid);
    if (hm_process_stop_all(orphan, found, HM_FINISH_ORPHAN_PATIENCE_MS, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
}
