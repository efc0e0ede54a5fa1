/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "files.h"

#define NODE "node"
#define DRAFT "node.draft"

int hm_rundir_open(const char *run_dir, struct hm_error *error)
{
    return hm_folder_open_own(AT_FDCWD, run_dir, HM_FOLDER_PASS, error);
}

int hm_rundir_open_root(int run, struct hm_error *error)
{
    return hm_folder_open_own(run, HM_RUNDIR_ROOT, 0700, error);
}

/* Moves what versions before kept in run_dir itself. A lock stays the same file: its holder keeps it. */
static int move_old(int run, int draft, struct hm_error *error)
{
    static const char *const names[] = {"auto_online_blocks", "namespace.lock", "trials", "wiped"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (renameat(run, names[i], draft, names[i]) != 0 && errno != ENOENT)
            return hm_fail_errno(error, "cannot move %s to " HM_RUNDIR_NODE, names[i]);
    return 0;
}

/*
 * Makes the folder under another name first, so that nobody finds it without what belongs in it. Another process may do
 * the same: then both work in the same draft, or this one's is empty and the folder is there. Returns 0 or -1.
 */
static int make_node(int run, int root, struct hm_error *error)
{
    int draft = hm_folder_open_own(root, DRAFT, 0700, error);
    if (draft < 0)
        return -1;
    int result = move_old(run, draft, error);
    close(draft);
    if (result != 0 || renameat2(root, DRAFT, root, NODE, RENAME_NOREPLACE) == 0 || errno == ENOENT)
        return result;
    if (errno != EEXIST)
        return hm_fail_errno(error, "cannot make the folder " HM_RUNDIR_NODE);
    unlinkat(root, DRAFT, AT_REMOVEDIR);
    return 0;
}

static int open_node(int run, struct hm_error *error)
{
    int root = hm_rundir_open_root(run, error), node = -1;
    if (root < 0)
        return -1;
    if (faccessat(root, NODE, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || make_node(run, root, error) == 0)
        node = hm_folder_open_own(root, NODE, 0700, error);
    int number = errno;
    close(root);
    errno = number;
    return node;
}

int hm_rundir_open_node(const char *run_dir, struct hm_error *error)
{
    int run = hm_rundir_open(run_dir, error);
    int node = run < 0 ? -1 : open_node(run, error);
    int number = errno;
    if (run >= 0)
        close(run);
    errno = number;
    return node;
}

bool hm_rundir_has(const char *run_dir, const char *name)
{
    int node = hm_rundir_open_node(run_dir, NULL);
    bool has = node >= 0 && faccessat(node, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (node >= 0)
        close(node);
    return has;
}
