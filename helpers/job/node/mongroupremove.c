/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes monitoring groups of resctrl. Users know the names of the groups, and can mount a file system of theirs on a
 * group's folder, in a namespace of their own. Whoever removes that folder then unmounts the file system, which may
 * last for ever (job/namespaces/daxfolders.h). So a child process removes groups, without the ledger's lock, and is
 * left behind if that takes long. Each user has places for a few such children, so that they do not pile up, and one
 * user's do not keep the groups of others. Groups that no entry has, so that nobody knows whose they are, have places
 * of their own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/looktext.h"
#include "base/rundir.h"
#include "job/ledger/log.h"
#include "mongroup.h"
#include "mongroupname.h"

#define PATIENCE_MS 5000
#define CANNOT "cannot remove resctrl groups"
#define MOST 256 /* groups that one reap removes; the next one goes on */

/* In run_dir's folder of root's (base/rundir.h). It has a file for each place, which stays until the next boot. */
#define FOLDER "removals"
#define PLACES 2      /* of each owner */
#define TRIES 450     /* to get a place: some 4.5 s */
#define REAP_TRIES 20 /* the same of a reap: some 0.2 s, as the next one goes on. Prologs and epilogs reap. */
#define PAUSE_NS 10000000L

struct removal {
    const struct hm_config *config;
    const char *owner; /* of all the groups, for people */
    const char *place; /* the names of the owner's places begin with it */
    int tries;         /* to get a place */
    int n;
    char (*name)[HM_MONGROUP_NAME];
};

/* Returns the descriptor of a place that was free, or -1 (EWOULDBLOCK: it is taken). */
static int try_place(int folder, const char *place, int i)
{
    char name[32];
    snprintf(name, sizeof(name), "%s.%d", place, i);
    int file = hm_flock_open(folder, name);
    if (file < 0 || hm_flock_try(file) == 0)
        return file;
    int number = errno;
    close(file);
    errno = number;
    return -1;
}

/*
 * Takes one of the owner's places, for hm_flock_close. A child that is stuck keeps its own; whoever removes groups
 * while nothing is stuck needs one for a moment. Returns -1 where none gets free in time.
 */
static int take_place(const struct removal *removal, struct hm_error *error)
{
    const struct hm_config *config = removal->config;
    int place = -1;
    int node = hm_rundir_open_node(config->run_dir, NULL, error);
    int folder = node < 0 ? -1 : hm_folder_open_own(node, FOLDER, 0700, error);
    if (node >= 0)
        close(node);
    if (folder < 0)
        return -1;
    errno = EWOULDBLOCK;
    for (int i = 0; place < 0 && errno == EWOULDBLOCK && i < removal->tries * PLACES; i++) {
        if (i > 0 && i % PLACES == 0)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        place = try_place(folder, removal->place, i % PLACES);
    }
    int number = errno;
    close(folder);
    if (place < 0 && number == EWOULDBLOCK)
        return hm_fail(error, EBUSY, CANNOT ": %d processes try to remove other groups of %s", PLACES, removal->owner);
    errno = number;
    return place >= 0 ? place
                      : hm_fail_errno(error, CANNOT ": no lock in %s/" HM_RUNDIR_NODE "/" FOLDER, config->run_dir);
}

/* Returns 0 or an errno. Of several failures the last one is told. */
static int remove_in_place(const struct removal *removal, struct hm_error *found)
{
    int number = 0;
    int groups = hm_mongroup_open(removal->config);
    if (groups < 0 && errno != ENOENT) {
        hm_fail_errno(found, CANNOT);
        return errno;
    }
    for (int i = 0; groups >= 0 && i < removal->n; i++)
        if (unlinkat(groups, removal->name[i], AT_REMOVEDIR) != 0 && errno != ENOENT) {
            hm_fail_errno(found, "cannot remove %s/" HM_MONGROUP_FOLDER "/%s", removal->config->resctrl_dir,
                          removal->name[i]);
            number = errno;
        }
    if (groups >= 0)
        close(groups);
    return number;
}

/* Runs in a child process. Returns 0 or an errno. */
static int remove_here(const void *question, void *found)
{
    const struct removal *removal = question;
    int place = take_place(removal, found);
    if (place < 0)
        return errno;
    int number = remove_in_place(removal, found);
    hm_flock_close(place);
    return number;
}

/* Returns 0, also where a group does not exist, or -1. */
static int remove_all(const struct removal *removal, struct hm_error *error)
{
    const struct hm_lookwork work = {.run = remove_here,
                                     .question = removal,
                                     .patience_ms = PATIENCE_MS,
                                     .cannot = CANNOT,
                                     .late = "a file system that was mounted there is still in use"};
    return removal->n == 0 ? 0 : hm_looktext_do(&work, error);
}

int hm_mongroup_remove(const struct hm_config *config, uint32_t job_id, uint32_t uid, const struct hm_mongroup *group,
                       struct hm_error *error)
{
    char name[1][HM_MONGROUP_NAME], owner[24], place[24];
    const struct removal removal = {
        .config = config, .owner = owner, .place = place, .tries = TRIES, .n = 1, .name = name};
    snprintf(owner, sizeof(owner), "uid %u", uid);
    snprintf(place, sizeof(place), "uid.%u", uid);
    hm_mongroup_name(job_id, group->restart, name[0]);
    return group->is_begun ? remove_all(&removal, error) : 0;
}

/* Lists the groups that have our names. */
static void list(const struct hm_config *config, struct removal *removal)
{
    uint32_t job_id, restart;
    struct dirent *item;
    int folder = hm_mongroup_open(config);
    DIR *groups = folder < 0 ? NULL : fdopendir(folder);
    if (!groups) {
        if (folder >= 0)
            close(folder);
        return; /* no resctrl, as on most nodes; or users reach the folder */
    }
    while (removal->n < MOST && (item = readdir(groups)))
        if (hm_mongroup_name_read(item->d_name, &job_id, &restart))
            hm_mongroup_name(job_id, restart, removal->name[removal->n++]);
    closedir(groups);
}

/*
 * Does no entry have this group? An entry that cannot be read may be of a living job, and counts as having it. The
 * caller holds the lock.
 */
static bool is_orphan(const struct hm_config *config, const char *name, struct hm_job *job)
{
    uint32_t job_id, restart;
    if (!hm_mongroup_name_read(name, &job_id, &restart))
        return false;
    if (hm_ledger_read(config, job_id, job, NULL) != 0)
        return errno == ENOENT;
    return !job->mongroup.is_begun || job->mongroup.restart != restart;
}

/*
 * Leaves only the groups that no entry has. An entry is written before its group is made: so what was listed before,
 * and has no entry now, is nobody's. Nobody can make a group of that name before it is removed.
 */
static void keep_orphans(const struct hm_config *config, struct removal *removal, struct hm_job *job)
{
    int n = 0;
    int lock = hm_ledger_lock(config, NULL);
    for (int i = 0; lock >= 0 && i < removal->n; i++)
        if (is_orphan(config, removal->name[i], job))
            memmove(removal->name[n++], removal->name[i], HM_MONGROUP_NAME);
    hm_ledger_unlock(lock);
    removal->n = n;
}

void hm_mongroup_reap(const struct hm_config *config)
{
    struct hm_error error = {{0}};
    struct removal removal = {.config = config,
                              .owner = "no job",
                              .place = "no.job",
                              .tries = REAP_TRIES,
                              .name = malloc(MOST * sizeof(*removal.name))};
    struct hm_job *job = malloc(sizeof(*job));
    if (job && removal.name)
        list(config, &removal);
    if (removal.n > 0)
        keep_orphans(config, &removal, job);
    if (remove_all(&removal, &error) != 0)
        hm_log(HM_LOG_ERROR, "resctrl groups that belong to no job could not be removed: %s", error.text);
    free(removal.name);
    free(job);
}
