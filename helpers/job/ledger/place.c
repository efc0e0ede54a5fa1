/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/rundir.h"

#define JOBS "jobs"
#define LINK HM_RUNDIR_ROOT "/" JOBS

enum kind { MISSING, LINKED, OTHER };

static enum kind kind_of(int folder)
{
    char text[sizeof(LINK)];
    ssize_t length = readlinkat(folder, JOBS, text, sizeof(text));
    if (length < 0)
        return errno == ENOENT ? MISSING : OTHER;
    return length == (ssize_t)strlen(LINK) && memcmp(text, LINK, strlen(LINK)) == 0 ? LINKED : OTHER;
}

/* Opens <run_dir>/root/jobs. Returns a descriptor or -1. */
static int open_new(int run, struct hm_error *error)
{
    int root = hm_rundir_open_root(run, error);
    int jobs = root < 0 ? -1 : hm_folder_open_own(root, JOBS, 0700, error);
    if (root >= 0)
        close(root);
    return jobs;
}

static int open_first(int run, struct hm_error *error)
{
    int jobs = open_new(run, error);
    if (jobs < 0 || symlinkat(LINK, run, JOBS) == 0 || errno == EEXIST)
        return jobs;
    hm_fail_errno(error, "cannot make the link " JOBS);
    close(jobs);
    return -1;
}

static int open_below(int run, struct hm_error *error)
{
    switch (kind_of(run)) {
    case LINKED:
        return open_new(run, error);
    case MISSING:
        return open_first(run, error);
    case OTHER:
        break;
    }
    /* Another process may move the old folder now. Then the link is in its place, and is not followed. */
    int jobs = hm_folder_open_own(run, JOBS, 0700, error);
    return jobs < 0 && kind_of(run) == LINKED ? open_new(run, error) : jobs;
}

int hm_place_open(const struct hm_config *config, struct hm_error *error)
{
    int run = hm_rundir_open(config->run_dir, error);
    int jobs = run < 0 ? -1 : open_below(run, error);
    int number = errno;
    if (run >= 0)
        close(run);
    errno = number;
    return jobs;
}

bool hm_place_is_old(const struct hm_config *config)
{
    int run = hm_rundir_open(config->run_dir, NULL);
    bool is_old = run >= 0 && kind_of(run) == OTHER;
    if (run >= 0)
        close(run);
    return is_old;
}

/*
 * Makes a link in the new place, which hm_place_move exchanges with the old folder. An empty folder in the new place is
 * removed first, as nobody uses it yet. Where another process has moved the old folder there meanwhile, there is
 * nothing to do: that folder has the lock's file in it, so it is not removed. Returns 0 or -1.
 */
static int make_room(const struct hm_config *config, const struct hm_place_move *move, struct hm_error *error)
{
    if (kind_of(move->root) == LINKED) /* of an earlier try: the folder could not be moved since */
        return 0;
    bool is_full = unlinkat(move->root, JOBS, AT_REMOVEDIR) != 0 && errno == ENOTEMPTY;
    int number = is_full || symlinkat(LINK, move->root, JOBS) == 0 ? 0 : errno;
    if (kind_of(move->run) == LINKED || (!is_full && kind_of(move->root) == LINKED))
        return 0;
    if (is_full)
        return hm_fail(error, ENOTEMPTY,
                       "%s/" JOBS " cannot be moved to " LINK ", which is not empty: remove %s/" LINK
                       " when no job is on the node",
                       config->run_dir, config->run_dir);
    errno = number;
    return hm_fail_errno(error, "cannot make the link %s/" LINK, config->run_dir);
}

int hm_place_move_begin(const struct hm_config *config, struct hm_place_move *move, struct hm_error *error)
{
    move->root = -1;
    move->run = hm_rundir_open(config->run_dir, error);
    if (move->run >= 0)
        move->root = hm_rundir_open_root(move->run, error);
    if (move->root >= 0 && make_room(config, move, error) == 0)
        return 0;
    hm_place_move_end(move);
    return -1;
}

int hm_place_move(const struct hm_place_move *move, struct hm_error *error)
{
    if (kind_of(move->run) == LINKED)
        return 0;
    if (kind_of(move->root) != LINKED)
        return hm_fail(error, EEXIST, "another process has made " LINK " meanwhile");
    if (renameat2(move->run, JOBS, move->root, JOBS, RENAME_EXCHANGE) == 0)
        return 0;
    return hm_fail_errno(error, "cannot move " JOBS " to " LINK);
}

void hm_place_move_end(struct hm_place_move *move)
{
    int number = errno;
    if (move->root >= 0)
        close(move->root);
    if (move->run >= 0)
        close(move->run);
    errno = number;
}
