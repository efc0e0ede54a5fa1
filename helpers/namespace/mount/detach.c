/* SPDX-License-Identifier: Apache-2.0 */
#include "detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/looktext.h"
#include "base/process.h"
#include "base/spawn.h"
#include "holders.h"
#include "mountinfo.h"

#define MOST_PLACE 4096
#define GRACE_MS 1000 /* for the child to end by itself once the time is over */

/*
 * Unmount what is at `place`, if it is this device. The user controls the path, and may have put something else there.
 * So the place is opened, checked through the descriptor, and unmounted by the descriptor's name in /proc/self/fd, the
 * current folder. umount2(2) can do that; libmount would unmount whatever is at the path by then.
 */
static bool detach_at(const char *place, dev_t device)
{
    char name[16];
    struct stat status;
    int fd = open(place, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    snprintf(name, sizeof(name), "%d", fd);
    bool is_done = fstat(fd, &status) == 0 && status.st_dev == device && umount2(name, MNT_DETACH) == 0;
    close(fd);
    return is_done;
}

struct wanted {
    int namespace; /* the mount namespace, open */
    dev_t device;
};

/* Exit statuses of the child. */
enum { DETACHED, NOT_DETACHED, NOT_THERE };

/* Runs in a child process, so that this program stays in its own mount namespace. In a user's mount namespace every
 * path is the user's to choose: no library that opens files may be called. Detaches the first mount of the device
 * until there is none, or one cannot be detached. */
static int detach_here(void *data)
{
    const struct wanted *wanted = data;
    char place[MOST_PLACE];
    int found, n = 0, descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptors < 0 || setns(wanted->namespace, CLONE_NEWNS) != 0 || fchdir(descriptors) != 0)
        return NOT_DETACHED;
    while ((found = hm_mountinfo_place("../mountinfo", wanted->device, place, sizeof(place))) == 1 &&
           detach_at(place, wanted->device))
        n++;
    if (found != 0)
        return NOT_DETACHED;
    return n > 0 ? DETACHED : NOT_THERE;
}

static bool detach_in(int namespace, dev_t device, double end_s)
{
    double left_s = end_s - hm_clock_s(CLOCK_MONOTONIC);
    struct wanted wanted = {namespace, device};
    const struct hm_spawn_call call = {.run = detach_here, .data = &wanted, .kept = namespace};
    pid_t child = left_s > 0 ? hm_spawn_call(&call, NULL) : -1;
    return child > 0 && hm_spawn_wait_for(child, (int)(left_s * 1000)) == DETACHED;
}

/* Leave out the mount namespaces of the host and of this program. */
static void leave_out(struct hm_mountspaces *seen)
{
    (void)hm_mountspaces_add(seen, "1");
    (void)hm_mountspaces_add(seen, "self");
}

/* The mounts are looked for from the namespace's own root: the process may see less of it, after a chroot(2). */
static bool detach_from(const char *pid, dev_t device, double end_s)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%.16s/ns/mnt", pid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    bool is_done = namespace >= 0 && detach_in(namespace, device, end_s);
    if (namespace >= 0)
        close(namespace);
    return is_done;
}

struct question {
    const char *device;
    double end_s;
    size_t size; /* bytes of the list */
};

/* Add to the list, which begins empty, a process of each mount namespace in which the device was detached. Returns 0 or
 * an errno. */
static int detach_everywhere(const void *data, void *names)
{
    const struct question *question = data;
    struct stat status;
    struct hm_mountspaces seen = {.n = 0};
    const char *pid;
    int n = 0;
    if (stat(question->device, &status) != 0 || !S_ISBLK(status.st_mode))
        return 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return errno;
    leave_out(&seen);
    while (hm_clock_s(CLOCK_MONOTONIC) < question->end_s && (pid = hm_process_next(proc)))
        if (hm_mountspaces_add(&seen, pid) && detach_from(pid, status.st_rdev, question->end_s))
            hm_holders_add(names, question->size, pid, n++);
    closedir(proc);
    return 0;
}

/* Works in a child, which is killed when its time is over: a user can make reads of /proc/PID wait for ever. */
bool hm_detach(const char *device, double end_s, char *names, size_t size)
{
    const struct question question = {device, end_s, size};
    double left_s = end_s - hm_clock_s(CLOCK_MONOTONIC);
    names[0] = '\0';
    if (left_s <= 0)
        return false;
    (void)hm_looktext_find(detach_everywhere, &question, names, size, (int)(left_s * 1000) + GRACE_MS);
    return names[0] != '\0';
}
