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
    /* Another process may move it now. The link is there then, which is not followed. */
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

/* Puts the link where the folder is to be, in place of an empty folder. Nobody looks there yet. Returns 0 or -1. */
static int make_room(int root)
{
    unlinkat(root, JOBS, AT_REMOVEDIR);
    return symlinkat(LINK, root, JOBS) == 0 || (errno == EEXIST && kind_of(root) == LINKED) ? 0 : -1;
}

static int move_below(int run, struct hm_error *error)
{
    int root = hm_rundir_open_root(run, error);
    if (root < 0)
        return -1;
    int result = make_room(root) == 0 ? renameat2(run, JOBS, root, JOBS, RENAME_EXCHANGE) : -1;
    if (result != 0)
        hm_fail_errno(error, "cannot move " JOBS " to " LINK);
    close(root);
    return result;
}

int hm_place_move(const struct hm_config *config, struct hm_error *error)
{
    int run = hm_rundir_open(config->run_dir, error);
    if (run < 0)
        return -1;
    int result = kind_of(run) == LINKED ? 0 : move_below(run, error);
    close(run);
    return result;
}
