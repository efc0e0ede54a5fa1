/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/looktext.h"
#include "base/process.h"
#include "mountinfo.h"

#define MOST_NAMED 4
#define LONGEST_S 60.0 /* of a look, whatever the caller says */
#define GRACE_MS 1000  /* for the child to end by itself once the time is over */

static bool is_before(double end_s)
{
    return hm_clock_s(CLOCK_MONOTONIC) < end_s;
}

/* Is the device for root alone, as device files of DAX memory are? */
static bool is_roots(const struct stat *device)
{
    return device->st_uid == 0 && (device->st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Has the process, under any of its four user ids, root's rights? */
static bool has_root(const char *pid)
{
    char text[1024];
    uid_t uid[4];
    return hm_process_read((pid_t)strtol(pid, NULL, 10), "status", text, sizeof(text)) == 0 &&
           hm_process_parse_uids(text, uid) == 0 && (uid[0] == 0 || uid[1] == 0 || uid[2] == 0 || uid[3] == 0);
}

/* Does the process have the device open (`kind` is "fd") or mapped ("map_files")? Only the text of each link is read,
 * which names the file: asking the file itself could wait for ever for a FUSE server of the user's. */
static bool has_link(const char *pid, const char *kind, const char *device, double end_s)
{
    char path[40], name[64];
    struct dirent *item;
    bool is_open = false;
    snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, kind);
    DIR *folder = opendir(path);
    while (folder && !is_open && is_before(end_s) && (item = readdir(folder))) {
        ssize_t length = readlinkat(dirfd(folder), item->d_name, name, sizeof(name));
        is_open = length == (ssize_t)strlen(device) && memcmp(name, device, (size_t)length) == 0;
    }
    if (folder)
        closedir(folder);
    return is_open;
}

bool hm_mountspaces_add(struct hm_mountspaces *seen, const char *pid)
{
    char path[40];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%.16s/ns/mnt", pid);
    if (stat(path, &status) != 0)
        return false;
    for (int i = 0; i < seen->n; i++)
        if (seen->inode[i] == status.st_ino)
            return false;
    if (seen->n < HM_MOUNTSPACES)
        seen->inode[seen->n++] = status.st_ino;
    return true;
}

void hm_holders_add(char *out, size_t size, const char *pid, int n)
{
    char path[40], name[32] = "?";
    size_t used = strlen(out);
    if (n == MOST_NAMED)
        snprintf(out + used, size - used, ", ...");
    if (n >= MOST_NAMED)
        return;
    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    (void)hm_file_read(path, name, sizeof(name), NULL);
    snprintf(out + used, size - used, "%s%.16s (%s)", n ? ", " : "", pid, name);
}

/* Does the process have the device open or mapped, or does it see a mount of the device? Mounts are looked up only for
 * the first process of each mount namespace. */
static bool holds(const char *pid, const char *device, const struct stat *status, struct hm_mountspaces *seen,
                  double end_s)
{
    /* A user's process is not looked at where it cannot have opened the device: the look could take any time. */
    if (is_roots(status) && !has_root(pid))
        return false;
    return (S_ISBLK(status->st_mode) && hm_mountspaces_add(seen, pid) && hm_mountinfo_sees(pid, status->st_rdev)) ||
           has_link(pid, "fd", device, end_s) || has_link(pid, "map_files", device, end_s);
}

struct question {
    const char *device;
    double end_s;
    size_t size; /* bytes of the list */
};

/* Add to the list, which begins empty, the processes that hold the device. Returns 0 or an errno. */
static int look(const void *data, void *list)
{
    const struct question *question = data;
    struct stat status;
    struct hm_mountspaces seen = {.n = 0};
    const char *pid;
    int n = 0;
    if (stat(question->device, &status) != 0)
        return 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return errno;
    while (n <= MOST_NAMED && is_before(question->end_s) && (pid = hm_process_next(proc)))
        if (holds(pid, question->device, &status, &seen, question->end_s))
            hm_holders_add(list, question->size, pid, n++);
    closedir(proc);
    return is_before(question->end_s) ? 0 : ETIMEDOUT;
}

int hm_holders_find(const char *device, double end_s, char *out, size_t size)
{
    double left_s = end_s - hm_clock_s(CLOCK_MONOTONIC);
    struct question question = {device, end_s, size};
    out[0] = '\0';
    if (left_s <= 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    int patience_ms = (int)((left_s < LONGEST_S ? left_s : LONGEST_S) * 1000) + GRACE_MS;
    int result = hm_looktext_find(look, &question, out, size, patience_ms);
    return out[0] ? 1 : result;
}
