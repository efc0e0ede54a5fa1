/* SPDX-License-Identifier: Apache-2.0 */
#include "daxfolders.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/flock.h"
#include "base/looktext.h"
#include "base/rundir.h"
#include "base/size.h"
#include "job/ledger/log.h"

#define ENDED "ended." /* begins the names of folders that are to be removed; jobs have only numbers */
#define NAME 48
#define MOST 64 /* folders that one process removes */
#define TURN "fsdax.folders"
/* Tidying has less time than making, as a folder that is left over costs nothing, but a job without its folders is
 * refused. A child waits for its turn for less than its whole time, so that it can say what it has waited for. */
#define TIDY_TURN_MS 1000
#define TIDY_MS 5000
#define MAKE_TURN_MS 8000
#define MAKE_MS 10000

struct question {
    const struct hm_config *config;
    const struct hm_job *job; /* whose folder is over; NULL: that of every job without an entry, if `ends_orphaned` */
    bool ends_orphaned;
};

struct ended {
    int n;
    char name[MOST][NAME];
};

/* Takes the lock under which the folders are made and renamed. It is not the ledger's: whoever has it also waits for
 * the kernel's own lock of the folder `fsdax`, which users can hold for long. Returns a descriptor for hm_flock_close,
 * or -1. */
static int take_turn(const struct hm_config *config, unsigned patience_ms, struct hm_error *error)
{
    int node = hm_rundir_open_node(config->run_dir, NULL, error);
    int turn = hm_rundir_open_lock(node, config->run_dir, TURN, error);
    if (turn < 0 || hm_flock_wait(turn, patience_ms) == 0)
        return turn;
    bool is_held = errno == ETIMEDOUT; /* not passed on: it would say that the child's time is over (base/looktext.h) */
    int number = is_held ? EBUSY : errno;
    if (is_held)
        hm_fail(error, number, "another process works on the folders of fsdax");
    else
        hm_fail_errno(error, "cannot lock the folders of fsdax");
    close(turn);
    errno = number;
    return -1;
}

/*
 * Is it the folder of a run that is over? The entry is read without the ledger's lock. A new run under the same number
 * enters the job first, and then waits for this process' turn before it makes the folder.
 */
static bool is_over(const struct question *question, const char *name, struct hm_job *now)
{
    uint64_t id;
    const struct hm_job *job = question->job;
    if (hm_size_parse_number(name, 0, UINT32_MAX, &id, NULL) != 0 ||
        (job ? id != job->job_id : !question->ends_orphaned))
        return false;
    if (hm_ledger_read(question->config, (uint32_t)id, now, NULL) == 0)
        return job && now->start_ns == job->start_ns;
    return errno == ENOENT;
}

/* Notes a folder for removal. Folders beyond MOST are left to the next process. */
static void note(struct ended *ended, const char *name)
{
    if (ended->n < MOST)
        hm_text_copy(ended->name[ended->n++], name, NAME);
}

/* Lists the folders that are to be removed. Gives those of runs that are over a name that no run has; what tasks have
 * mounted in them stays mounted. Returns 0 or an errno. */
static int list_ended(const struct question *question, DIR *names, struct ended *ended, struct hm_error *error)
{
    char name[NAME];
    struct dirent *item;
    int number = 0;
    struct hm_job *now = malloc(sizeof(*now));
    while (now && (item = readdir(names))) {
        if (strncmp(item->d_name, ENDED, strlen(ENDED)) == 0)
            note(ended, item->d_name);
        if (!is_over(question, item->d_name, now))
            continue;
        snprintf(name, sizeof(name), ENDED "%.10s.%llu", item->d_name,
                 (unsigned long long)hm_clock_ns(CLOCK_MONOTONIC));
        if (renameat(dirfd(names), item->d_name, dirfd(names), name) == 0) {
            note(ended, name);
            continue;
        }
        hm_fail_errno(error, "cannot rename fsdax/%.10s", item->d_name);
        number = errno;
    }
    free(now);
    return number;
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
    int number = errno;
    if (names)
        closedir(names);
    else if (folder >= 0)
        close(folder);
    errno = number;
    if (result == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot remove fsdax/%.64s", name);
    return result;
}

/* Runs in a child process. Returns 0 or an errno. */
static int tidy_here(const void *asked, void *found)
{
    const struct question *question = asked;
    struct ended ended = {0};
    char path[HM_DAX_PATH];
    int turn = take_turn(question->config, TIDY_TURN_MS, found);
    if (turn < 0)
        return errno;
    /* Where there is no `fsdax`, no job has a folder in it. */
    DIR *names = opendir(hm_dax_folder(question->config, path));
    int number = names ? list_ended(question, names, &ended, found) : 0;
    hm_flock_close(turn);
    for (int i = 0; i < ended.n; i++)
        if (remove_one(dirfd(names), ended.name[i], found) != 0)
            number = errno;
    if (names)
        closedir(names);
    return number;
}

/* Keeps errno. */
static void tidy(const struct question *question)
{
    const struct hm_lookwork work = {
        .run = tidy_here,
        .question = question,
        .patience_ms = TIDY_MS,
        .cannot = "cannot remove folders of ended jobs",
        .late = "a file system that was mounted there is still in use, or a user holds up the folder fsdax"};
    struct hm_error why = {{0}};
    int number = errno;
    if (hm_looktext_do(&work, &why) != 0)
        hm_log(HM_LOG_WARNING, "%s", why.text);
    errno = number;
}

void hm_daxfolders_remove(const struct hm_config *config, const struct hm_job *job)
{
    tidy(&(struct question){.config = config, .job = job});
}

void hm_daxfolders_tidy(const struct hm_config *config, bool ends_orphaned)
{
    /* Even whether `fsdax` exists is left to the child to find out: users can hold up whoever lists it. */
    tidy(&(struct question){.config = config, .ends_orphaned = ends_orphaned});
}

/* Makes one of our folders. Its parent is root's, too, so nobody else can have put anything there. */
static int make_folder(const char *path, struct hm_error *error)
{
    int fd = hm_folder_open_own(AT_FDCWD, path, HM_FOLDER_PASS, error);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/*
 * Lets one user pass the folder, and takes that from all others but root. Others who passed it would reach the kernel's
 * locks of the folders in it: the job's task, which mounts on these folders, would wait for the locks, and could not be
 * killed. The user does not own the folder, as an owner could exchange what root mounts on, and a group may have other
 * members. So it is an ACL; libacl would be one more library on all nodes for this one call.
 */
static int let_in(int folder, uint32_t uid, struct hm_error *error)
{
    const uint16_t pass = htole16(ACL_EXECUTE), all = htole16(ACL_READ | ACL_WRITE | ACL_EXECUTE);
    const uint32_t no_id = htole32((uint32_t)ACL_UNDEFINED_ID);
    const struct {
        struct posix_acl_xattr_header header;
        struct posix_acl_xattr_entry entries[5];
    } acl = {{htole32(POSIX_ACL_XATTR_VERSION)},
             {{htole16(ACL_USER_OBJ), all, no_id},
              {htole16(ACL_USER), pass, htole32(uid)},
              {htole16(ACL_GROUP_OBJ), 0, no_id},
              {htole16(ACL_MASK), pass, no_id},
              {htole16(ACL_OTHER), 0, no_id}}};
    if (fsetxattr(folder, "system.posix_acl_access", &acl, sizeof(acl), 0) == 0)
        return 0;
    if (errno == EOPNOTSUPP)
        return hm_fail_errno(error, "the file system of run_dir has no POSIX ACLs, and fsdax needs them");
    return hm_fail_errno(error, "cannot let the job's user into the job's folder of fsdax by an ACL");
}

static int make_folders(const struct hm_config *config, const struct hm_job *job, struct hm_error *error)
{
    char path[HM_DAX_PATH];
    if (make_folder(hm_dax_folder(config, path), error) != 0)
        return -1;
    int folder = hm_folder_open_own(AT_FDCWD, hm_dax_job_folder(config, job->job_id, path), 0700, error);
    if (folder < 0)
        return -1;
    int result = let_in(folder, job->uid, error);
    for (uint32_t i = 0; result == 0 && i < job->namespaces.n; i++)
        result = make_folder(hm_dax_path(config, job->job_id, job->namespaces.each[i].socket, path), error);
    int number = errno;
    close(folder);
    errno = number;
    return result;
}

/* Runs in a child process. Returns 0 or an errno. */
static int make_here(const void *asked, void *found)
{
    const struct question *question = asked;
    int turn = take_turn(question->config, MAKE_TURN_MS, found);
    if (turn < 0)
        return errno;
    int result = make_folders(question->config, question->job, found);
    hm_flock_close(turn);
    return result == 0 ? 0 : errno;
}

int hm_daxfolders_make(const struct hm_config *config, const struct hm_job *job, struct hm_error *error)
{
    const struct question question = {.config = config, .job = job};
    const struct hm_lookwork work = {.run = make_here,
                                     .question = &question,
                                     .patience_ms = MAKE_MS,
                                     .cannot = "cannot make the folders for the job's file systems",
                                     .late = "a user holds up the folder fsdax"};
    return hm_looktext_do(&work, error);
}
