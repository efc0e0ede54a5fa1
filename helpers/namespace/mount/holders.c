/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/size.h"
#include "base/spawn.h"
#include "mountinfo.h"

#define MOST_NAMED 4
#define LONGEST_S 60.0 /* of a look, whatever the caller says */
#define GRACE_MS 1000  /* for the child to say what it has found until the time is over */
#define NOT_FOUND "a process that was not found in time"

static bool is_before(double end_s)
{
    return hm_clock_s(CLOCK_MONOTONIC) < end_s;
}

/* Does the process have the device open ("fd") or mapped ("map_files")? Only the names of the links are read: asking
 * the files themselves could wait for ever for a server of the user's. */
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
    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    (void)hm_file_read(path, name, sizeof(name), NULL);
    if (n < MOST_NAMED)
        snprintf(out + used, size - used, "%s%.16s (%s)", n ? ", " : "", pid, name);
    else
        snprintf(out + used, size - used, ", ...");
}

/* Does the process use the device, or is it the first one seen that sees a mount of it? */
static bool holds(const char *pid, const char *device, const struct stat *status, struct hm_mountspaces *seen,
                  double end_s)
{
    return (S_ISBLK(status->st_mode) && hm_mountspaces_add(seen, pid) && hm_mountinfo_sees(pid, status->st_rdev)) ||
           has_link(pid, "fd", device, end_s) || has_link(pid, "map_files", device, end_s);
}

static void look(const char *device, double end_s, char *out, size_t size)
{
    struct stat status;
    struct dirent *item;
    struct hm_mountspaces seen = {.n = 0};
    uint64_t pid;
    int n = 0;
    out[0] = '\0';
    DIR *proc = opendir("/proc");
    if (!proc || stat(device, &status) != 0)
        goto done;
    while (n <= MOST_NAMED && is_before(end_s) && (item = readdir(proc)))
        if (hm_size_parse_number(item->d_name, 1, HM_MOST_PID, &pid, NULL) == 0 &&
            holds(item->d_name, device, &status, &seen, end_s))
            hm_holders_add(out, size, item->d_name, n++);
    if (n == 0 && !is_before(end_s))
        snprintf(out, size, NOT_FOUND);
done:
    if (proc)
        closedir(proc);
}

struct question {
    const char *device;
    double end_s;
    char *out; /* of the child, which has a copy of this */
    size_t size;
    int answer; /* descriptor for what is found */
};

static int look_in_child(void *data)
{
    const struct question *question = data;
    look(question->device, question->end_s, question->out, question->size);
    size_t length = strlen(question->out);
    return write(question->answer, question->out, length) == (ssize_t)length ? 0 : 1;
}

/* Even to list a process's mappings can wait for ever: where the process waits in a page fault of a file system that a
 * user serves, it may hold the lock of its mappings. A child can be killed meanwhile. */
char *hm_holders_name(const char *device, double end_s, char *out, size_t size)
{
    int ends[2];
    double left_s = end_s - hm_clock_s(CLOCK_MONOTONIC);
    snprintf(out, size, NOT_FOUND);
    if (left_s <= 0 || pipe2(ends, O_CLOEXEC) != 0)
        return out;
    struct question question = {device, end_s, out, size, ends[1]};
    const struct hm_spawn_call call = {.run = look_in_child, .data = &question, .kept = ends[1]};
    pid_t child = hm_spawn_call(&call, NULL);
    close(ends[1]);
    if (child > 0 &&
        hm_spawn_wait_for(child, (int)((left_s < LONGEST_S ? left_s : LONGEST_S) * 1000) + GRACE_MS) == 0) {
        ssize_t length = read(ends[0], out, size - 1);
        out[length > 0 ? length : 0] = '\0';
    }
    close(ends[0]);
    return out;
}
