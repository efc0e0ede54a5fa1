/* SPDX-License-Identifier: Apache-2.0 */
#include "daxfolders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/flock.h"
#include "base/looktext.h"
#include "base/size.h"
#include "job/ledger/log.h"

#define ENDED "ended." /* begins the names of folders that are to be removed; jobs have only numbers */
#define PATIENCE_MS 5000

/* Gives the job's folder, if there is one, a name that no run has. What tasks have mounted in it stays mounted. */
static int end_folder(const struct hm_config *config, uint32_t job_id, struct hm_error *error)
{
    char path[HM_DAX_PATH], ended[HM_DAX_PATH + sizeof(ENDED) + 24];
    snprintf(ended, sizeof(ended), "%s/" ENDED "%u.%llu", hm_dax_folder(config, path), job_id,
             (unsigned long long)hm_clock_ns(CLOCK_MONOTONIC));
    if (rename(hm_dax_job_folder(config, job_id, path), ended) == 0 || errno == ENOENT)
        return 0;
    return hm_fail_errno(error, "cannot rename %s", path);
}

static bool is_ended(const char *name)
{
    return strncmp(name, ENDED, strlen(ENDED)) == 0;
}

/* Removes the folder and those in it; what another process has removed already is no error. Does nothing while another
 * process removes the same folder: the kernel may hold that process for long, and this one must not wait for it.
 * Returns 0 or -1. */
static int remove_one(int parent, const char *name, struct hm_error *error)
{
    struct dirent *item;
    int result = 0;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder >= 0 && hm_flock_try(folder) != 0) {
        close(folder);
        return 0;
    }
    DIR *names = folder < 0 ? NULL : fdopendir(folder);
    while (names && (item = readdir(names)))
        if (item->d_name[0] != '.' && unlinkat(folder, item->d_name, AT_REMOVEDIR) != 0 && errno != ENOENT)
            result = hm_fail_errno(error, "cannot remove fsdax/%.64s/%.64s", name, item->d_name);
    if (names)
        closedir(names);
    else if (folder >= 0)
        close(folder);
    if (result == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot remove fsdax/%.64s", name);
    return result;
}

/* Runs in a child process. Returns 0 or an errno. */
static int remove_ended(const void *question, void *found)
{
    char path[HM_DAX_PATH];
    struct dirent *item;
    int number = 0;
    DIR *names = opendir(hm_dax_folder(question, path));
    while (names && (item = readdir(names)))
        if (is_ended(item->d_name) && remove_one(dirfd(names), item->d_name, found) != 0)
            number = errno;
    if (names)
        closedir(names);
    return number;
}

static bool is_any_ended(const struct hm_config *config)
{
    char path[HM_DAX_PATH];
    struct dirent *item;
    bool is_found = false;
    DIR *names = opendir(hm_dax_folder(config, path));
    while (names && !is_found && (item = readdir(names)))
        is_found = is_ended(item->d_name);
    if (names)
        closedir(names);
    return is_found;
}

void hm_daxfolders_remove_ended(const struct hm_config *config)
{
    const struct hm_lookwork work = {.run = remove_ended,
                                     .question = config,
                                     .patience_ms = PATIENCE_MS,
                                     .cannot = "cannot remove folders of ended jobs",
                                     .late = "a file system that was mounted there is still in use"};
    struct hm_error why = {{0}};
    int number = errno;
    if (is_any_ended(config) && hm_looktext_do(&work, &why) != 0)
        hm_log(HM_LOG_WARNING, "%s", why.text);
    errno = number;
}

/* Is the ledger's entry under the job's number still that of this run, or gone? The caller holds the ledger's lock. */
static bool has_number(const struct hm_config *config, const struct hm_job *job)
{
    struct hm_job *now = malloc(sizeof(*now));
    bool is_its_own = false;
    if (now)
        is_its_own =
            hm_ledger_read(config, job->job_id, now, NULL) == 0 ? now->start_ns == job->start_ns : errno == ENOENT;
    free(now);
    return is_its_own;
}

void hm_daxfolders_remove(const struct hm_config *config, const struct hm_job *job)
{
    struct hm_error why = {{0}};
    int held = hm_ledger_lock(config, &why);
    if (held < 0 || (has_number(config, job) && end_folder(config, job->job_id, &why) != 0))
        hm_log(HM_LOG_WARNING, "%s", why.text);
    hm_ledger_unlock(held);
    hm_daxfolders_remove_ended(config);
}

void hm_daxfolders_end_orphaned(const struct hm_config *config)
{
    char path[HM_DAX_PATH];
    struct dirent *item;
    uint64_t id;
    struct hm_job *job = malloc(sizeof(*job));
    int held = job ? hm_ledger_lock(config, NULL) : -1;
    DIR *names = held < 0 ? NULL : opendir(hm_dax_folder(config, path));
    while (names && (item = readdir(names)))
        if (hm_size_parse_number(item->d_name, 0, UINT32_MAX, &id, NULL) == 0 &&
            hm_ledger_read(config, (uint32_t)id, job, NULL) != 0 && errno == ENOENT)
            (void)end_folder(config, (uint32_t)id, NULL);
    if (names)
        closedir(names);
    hm_ledger_unlock(held);
    free(job);
}
