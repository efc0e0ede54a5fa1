/* SPDX-License-Identifier: Apache-2.0 */
#include "members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ranks.h"

#define DEPTH 8 /* levels of folders below the step's that are searched; Slurm has user/task_N */

int hm_members_add(struct hm_members *members, pid_t pid)
{
    if (members->n == members->room) {
        size_t room = members->room ? 2 * members->room : 64;
        pid_t *grown = room <= 4 * HM_RANKS ? realloc(members->pid, room * sizeof(*grown)) : NULL;
        if (!grown) {
            members->is_cut = true;
            return -1;
        }
        members->pid = grown;
        members->room = room;
    }
    members->pid[members->n++] = pid;
    return 0;
}

/* May the folder have others in it? A cgroup has some sixty files, which take long to list; its links tell. */
static bool has_folders(int folder)
{
    struct stat status;
    return fstat(folder, &status) != 0 || status.st_nlink != 2;
}

/* By errno: was something not seen that may well be there? A cgroup that has vanished has no processes. */
static void note_failure(struct hm_members *members)
{
    members->is_cut = members->is_cut || errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

/* Reads which processes are in the folder itself. */
static void read_processes(struct hm_members *members, int folder)
{
    int file = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    FILE *lines = file < 0 ? NULL : fdopen(file, "r");
    if (!lines)
        note_failure(members);
    if (!lines && file >= 0)
        close(file);
    for (long pid; lines && fscanf(lines, "%ld", &pid) == 1;)
        if (pid > 0 && hm_members_add(members, (pid_t)pid) != 0)
            break;
    if (lines && ferror(lines))
        note_failure(members);
    if (lines)
        fclose(lines);
}

/* Folders may vanish during this. */
static int collect(struct hm_members *members, int at, const char *name, int depth)
{
    int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        note_failure(members);
        return -1;
    }
    read_processes(members, folder);
    bool is_last = depth == 0 || !has_folders(folder);
    DIR *list = is_last ? NULL : fdopendir(folder);
    if (!list && !is_last)
        note_failure(members);
    if (!list) {
        close(folder);
        return 0;
    }
    for (struct dirent *entry; (errno = 0, entry = readdir(list));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            collect(members, dirfd(list), entry->d_name, depth - 1);
    if (errno != 0)
        note_failure(members);
    closedir(list);
    return 0;
}

int hm_members_collect(struct hm_members *members, const char *cgroup)
{
    return collect(members, AT_FDCWD, cgroup, DEPTH);
}

static int compare(const void *a, const void *b)
{
    const pid_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void hm_members_sort(struct hm_members *members)
{
    if (members->n > 1)
        qsort(members->pid, members->n, sizeof(pid_t), compare);
}

bool hm_members_has(const struct hm_members *members, pid_t pid)
{
    return members->n > 0 && bsearch(&pid, members->pid, members->n, sizeof(pid), compare);
}
