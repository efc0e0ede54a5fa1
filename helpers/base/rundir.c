/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "files.h"
#include "flock.h"

#define NODE "node"

int hm_rundir_open(const char *run_dir, struct hm_error *error)
{
    return hm_folder_open_own(AT_FDCWD, run_dir, HM_FOLDER_PASS, error);
}

int hm_rundir_open_root(int run, struct hm_error *error)
{
    return hm_folder_open_own(run, HM_RUNDIR_ROOT, 0700, error);
}

bool hm_rundir_has(int node, const char *name)
{
    return faccessat(node, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Moves a file or folder from its old place to `node`. Another process may do so at the same time. Where both places
 * have one, both stay as they are. Returns 0 or -1. */
static int move_one(int run, int node, const struct hm_rundir_old *old, struct hm_error *error)
{
    if (hm_rundir_has(run, old->path) && renameat2(run, old->path, node, old->name, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == ENOENT || errno == EEXIST
               ? 0
               : hm_fail_errno(error, "cannot move %s to " HM_RUNDIR_NODE "/%s", old->path, old->name);
}

static int move_all(int run, int node, const struct hm_rundir_old *old, struct hm_error *error)
{
    const char *last = NULL;
    for (const struct hm_rundir_old *one = old; one->name; one++)
        last = one->name;
    if (hm_rundir_has(node, last))
        return 0;
    for (const struct hm_rundir_old *one = old; one->name; one++)
        if (move_one(run, node, one, error) != 0)
            return -1;
    int lock = hm_flock_open(node, last);
    if (lock < 0)
        return hm_fail_errno(error, "cannot make " HM_RUNDIR_NODE "/%s", last);
    close(lock);
    return 0;
}

static int open_node(int run, const struct hm_rundir_old *old, struct hm_error *error)
{
    int root = hm_rundir_open_root(run, error);
    int node = root < 0 ? -1 : hm_folder_open_own(root, NODE, 0700, error);
    int number = errno;
    if (root >= 0)
        close(root);
    errno = number;
    if (node < 0 || !old || move_all(run, node, old, error) == 0)
        return node;
    number = errno;
    close(node);
    errno = number;
    return -1;
}

int hm_rundir_open_node(const char *run_dir, const struct hm_rundir_old *old, struct hm_error *error)
{
    int run = hm_rundir_open(run_dir, error);
    int node = run < 0 ? -1 : open_node(run, old, error);
    int number = errno;
    if (run >= 0)
        close(run);
    errno = number;
    return node;
}

int hm_rundir_open_lock(int node, const char *run_dir, const char *name, struct hm_error *error)
{
    if (node < 0)
        return -1;
    int lock = hm_flock_open(node, name);
    if (lock < 0)
        hm_fail_errno(error, "cannot open %s/" HM_RUNDIR_NODE "/%s", run_dir, name);
    int number = errno;
    close(node);
    errno = number;
    return lock;
}

char *hm_rundir_node_path(const char *run_dir, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s/" HM_RUNDIR_NODE "%s%s", run_dir, name ? "/" : "", name ? name : "");
    return out;
}
