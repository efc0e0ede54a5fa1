/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/heldlock.h"
#include "base/size.h"
#include "entry.h"
#include "epilog.h"
#include "figurefile.h"
#include "hurry.h"
#include "others.h"
#include "place.h"

#define LOCK_PATIENCE_MS 20000
#define JOBS "jobs"
#define LOCK "lock"

char *hm_ledger_folder_path(const struct hm_config *config, char *out, size_t size)
{
    snprintf(out, size, "%s/" JOBS, config->run_dir);
    return out;
}

char *hm_ledger_samples_path(const struct hm_config *config, uint32_t job_id, char *out, size_t size)
{
    snprintf(out, size, "%s/" JOBS "/%u.samples", config->run_dir, job_id);
    return out;
}

/* Returns a descriptor or -1. */
static int open_lock(const struct hm_config *config, struct hm_error *error)
{
    int folder = hm_place_open(config, error);
    if (folder < 0)
        return -1;
    int lock = hm_flock_open(folder, LOCK);
    if (lock < 0)
        hm_fail_errno(error, "cannot open %s/" JOBS "/" LOCK, config->run_dir);
    int number = errno;
    close(folder);
    errno = number;
    return lock;
}

int hm_ledger_lock(const struct hm_config *config, struct hm_error *error)
{
    hm_hurry_begin();
    int lock = open_lock(config, error);
    if (lock >= 0 && hm_flock_wait(lock, LOCK_PATIENCE_MS) == 0) {
        hm_heldlock_enter();
        return lock;
    }
    if (lock >= 0)
        hm_fail_errno(error, "cannot lock %s/" JOBS "/" LOCK, config->run_dir);
    int number = errno;
    if (lock >= 0)
        close(lock);
    errno = number;
    hm_hurry_end();
    return -1;
}

void hm_ledger_unlock(int lock)
{
    if (lock < 0)
        return;
    hm_flock_close(lock);
    hm_heldlock_leave();
    hm_hurry_end();
}

/* Returns -1, with the reason why an entry could not be opened. */
static int fail_open(const char *name, struct hm_error *error)
{
    if (errno == ENOENT)
        return hm_fail(error, ENOENT, "job %s is not in the node's ledger", name);
    if (errno == EPERM)
        return hm_fail(error, EPERM, "the ledger's entry of job %s must be a file of uid %u, mode 0600", name,
                       geteuid());
    return hm_fail_errno(error, "cannot open the ledger's entry of job %s", name);
}

/* Reads a whole entry and puts '\0' after it; the caller frees `content`. Returns the length, or -1. */
static ssize_t load(int folder, const char *name, char **content, struct hm_error *error)
{
    struct stat status;
    size_t length;
    int fd = hm_file_open_own(folder, name);
    *content = NULL;
    if (fd < 0)
        return fail_open(name, error);
    *content = hm_file_read_whole(fd, HM_ENTRY_MOST - 1, &length);
    if (!*content && errno == E2BIG && fstat(fd, &status) == 0)
        hm_fail(error, EBADMSG, "the ledger's entry of job %s has %lld bytes: an entry has fewer than %u", name,
                (long long)status.st_size, HM_ENTRY_MOST);
    else if (!*content)
        hm_fail_errno(error, "cannot read the ledger's entry of job %s", name);
    close(fd);
    return *content ? (ssize_t)length : -1;
}

int hm_ledger_read_part(int folder, uint32_t job_id, const struct hm_fields *part, struct hm_job *job,
                        struct hm_error *error)
{
    char name[16], *content;
    struct hm_error why = {0};
    int result = -1;
    snprintf(name, sizeof(name), "%u", job_id);
    ssize_t length = load(folder, name, &content, error);
    if (length >= 0 && hm_entry_parse(content, (size_t)length, part, job, &why) != 0)
        hm_fail(error, errno, "the ledger's entry of job %u: %s", job_id, why.text);
    else if (length >= 0 && job->job_id != job_id)
        hm_fail(error, EBADMSG, "the ledger's entry of job %u is of job %u", job_id, job->job_id);
    else
        result = length < 0 ? -1 : 0;
    int number = errno;
    free(content);
    errno = number;
    return result;
}

int hm_ledger_read(const struct hm_config *config, uint32_t job_id, struct hm_job *job, struct hm_error *error)
{
    int folder = hm_place_open(config, error);
    if (folder < 0)
        return -1;
    int result = hm_ledger_read_part(folder, job_id, &hm_job_fields, job, error);
    int number = errno;
    close(folder);
    errno = number;
    return result;
}

/* Writes a draft and renames it, so that the entry is whole at any moment. Returns 0 or -1. */
static int store(int folder, const char *name, const char *text, size_t length)
{
    char draft[24];
    snprintf(draft, sizeof(draft), "%s.draft", name);
    unlinkat(folder, draft, 0);
    int fd = hm_file_make(folder, draft, text, length);
    if (fd < 0)
        return -1;
    close(fd);
    int result = renameat(folder, draft, folder, name);
    int number = errno;
    if (result != 0)
        unlinkat(folder, draft, 0);
    errno = number;
    return result;
}

int hm_ledger_write(const struct hm_config *config, const struct hm_job *job, struct hm_error *error)
{
    char name[16], *before = NULL;
    struct hm_error why = {0};
    int result = -1;
    int folder = hm_place_open(config, error);
    if (folder < 0)
        return -1;
    snprintf(name, sizeof(name), "%u", job->job_id);
    char *text = malloc(HM_ENTRY_MOST);
    if (text)
        load(folder, name, &before, NULL);
    ssize_t length = text ? hm_entry_format(job, before, text, &why) : hm_fail(&why, ENOMEM, "no memory");
    if (length < 0)
        hm_fail(error, errno, "cannot write the ledger's entry of job %s: %s", name, why.text);
    else if (store(folder, name, text, (size_t)length) != 0)
        hm_fail_errno(error, "cannot write the ledger's entry of job %s", name);
    else
        result = 0;
    int number = errno;
    close(folder);
    free(before);
    free(text);
    errno = number;
    return result;
}

/* Reads the next name of a folder. Returns NULL at the end, with errno 0, or after an error, with its errno. */
static struct dirent *next_name(DIR *names)
{
    errno = 0;
    return readdir(names);
}

/* Removes the files of figures that the job's migrators left. Returns 0 or -1. */
static int remove_migrations(int folder, uint32_t job_id)
{
    uint32_t id, step_id;
    struct dirent *item;
    int number = 0; /* errno of the last failure */
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = copy < 0 ? NULL : fdopendir(copy);
    if (!names) {
        if (copy >= 0)
            close(copy);
        return -1;
    }
    while ((item = next_name(names)))
        if (hm_figurefile_is_name(item->d_name, &id, &step_id) && id == job_id &&
            unlinkat(folder, item->d_name, 0) != 0 && errno != ENOENT)
            number = errno;
    number = errno != 0 ? errno : number;
    closedir(names);
    errno = number;
    return number == 0 ? 0 : -1;
}

int hm_ledger_remove(const struct hm_config *config, uint32_t job_id, struct hm_error *error)
{
    char name[24];
    int result = 0;
    int folder = hm_place_open(config, error);
    if (folder < 0)
        return -1;
    /* The entry is removed last: after a crash in between, the next reap finds the entry and removes the rest. */
    snprintf(name, sizeof(name), "%u.samples", job_id);
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot remove %s/" JOBS "/%s", config->run_dir, name);
    hm_epilog_name(job_id, name, sizeof(name));
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot remove %s/" JOBS "/%s", config->run_dir, name);
    if (remove_migrations(folder, job_id) != 0)
        result = hm_fail_errno(error, "cannot remove the figures of job %u's migrators", job_id);
    snprintf(name, sizeof(name), "%u", job_id);
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot remove %s/" JOBS "/%s", config->run_dir, name);
    close(folder);
    return result;
}

int hm_ledger_list(const struct hm_config *config, uint32_t **ids, struct hm_error *error)
{
    int count = 0, room = 0;
    struct dirent *item;
    *ids = NULL;
    int folder = hm_place_open(config, error);
    if (folder < 0)
        return -1;
    DIR *names = fdopendir(folder);
    if (!names) {
        close(folder);
        return hm_fail_errno(error, "cannot list %s/" JOBS, config->run_dir);
    }
    while ((item = next_name(names))) {
        uint64_t id;
        if (hm_size_parse_number(item->d_name, 0, UINT32_MAX, &id, NULL) != 0)
            continue;
        if (count == room) {
            room += 64;
            uint32_t *more = realloc(*ids, (size_t)room * sizeof(**ids));
            if (!more) {
                errno = ENOMEM;
                break;
            }
            *ids = more;
        }
        (*ids)[count++] = (uint32_t)id;
    }
    if (errno != 0) {
        count = hm_fail_errno(error, "cannot list %s/" JOBS, config->run_dir);
        free(*ids);
        *ids = NULL;
    }
    int number = errno;
    closedir(names);
    errno = number;
    return count;
}

int hm_job_check_begun(const struct hm_job *now, const struct hm_job *job, struct hm_error *error)
{
    return now->start_ns == job->start_ns && now->finisher.pid == 0 && now->end_ns == 0
               ? 0
               : hm_fail(error, ESTALE, "job %u has ended before its prolog was done", job->job_id);
}
