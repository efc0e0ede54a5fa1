/* SPDX-License-Identifier: Apache-2.0 */
#include "detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/size.h"
#include "../job/files.h"
#include "holders.h"

#define MOST_MOUNTINFO (1 << 20)
#define MOST_PID (1 << 22)
#define MOST_PLACE 4096
#define PATIENCE_S 10 /* for a file system on the way that hangs */

/* Blanks, tabs, newlines and backslashes of the place are written in three octal digits. */
static bool unescape(const char *from, size_t length, char *place, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned byte = (unsigned char)from[i];
        if (byte == '\\' && i + 3 < length && sscanf(from + i, "\\%3o", &byte) == 1)
            i += 3;
        if (used + 1 >= size)
            return false;
        place[used++] = (char)byte;
    }
    place[used] = '\0';
    return used > 0;
}

bool hm_mountinfo_place(const char *mountinfo, dev_t device, int n, char *place, size_t size)
{
    unsigned major_number, minor_number;
    /* "36 35 98:0 /root /place options..." */
    for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
        int from = 0, to = 0;
        line += *line == '\n';
        if (sscanf(line, "%*u %*u %u:%u %*s %n%*s%n", &major_number, &minor_number, &from, &to) == 2 && to > from &&
            (size_t)to <= strcspn(line, "\n") && major_number == major(device) && minor_number == minor(device) &&
            n-- == 0)
            return unescape(line + from, (size_t)(to - from), place, size);
    }
    return false;
}

/* In a process of its own, for there is no way back. Each mount that goes makes the next one the first. */
static void detach_here(const char *namespace, dev_t device, char *text)
{
    char place[MOST_PLACE];
    alarm(PATIENCE_S);
    int fd = open(namespace, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNS) != 0)
        _exit(1);
    while (hm_file_read("/proc/self/mountinfo", text, MOST_MOUNTINFO, NULL) == 0 &&
           hm_mountinfo_place(text, device, 0, place, sizeof(place)))
        if (umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
            _exit(1);
    _exit(0);
}

static bool detach_in(const char *pid, dev_t device, char *text)
{
    char path[40];
    int status = -1;
    snprintf(path, sizeof(path), "/proc/%.16s/ns/mnt", pid);
    pid_t child = fork();
    if (child == 0)
        detach_here(path, device, text);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0;
}

/* Is the process in the host's mount namespace, or in this program's? What cannot be told is. */
static bool is_of_host(const char *pid)
{
    char path[40];
    struct stat its, other;
    snprintf(path, sizeof(path), "/proc/%.16s/ns/mnt", pid);
    if (stat(path, &its) != 0 || stat("/proc/1/ns/mnt", &other) != 0 || its.st_ino == other.st_ino)
        return true;
    return stat("/proc/self/ns/mnt", &other) != 0 || its.st_ino == other.st_ino;
}

int hm_detach(const char *device, char *names, size_t size)
{
    struct stat status;
    struct dirent *item;
    uint64_t pid;
    char path[40];
    int n = 0;
    names[0] = '\0';
    char *text = malloc(MOST_MOUNTINFO);
    DIR *proc = opendir("/proc");
    if (!text || !proc || stat(device, &status) != 0 || !S_ISBLK(status.st_mode))
        goto done;
    while ((item = readdir(proc))) {
        if (hm_size_parse_number(item->d_name, 1, MOST_PID, &pid, NULL) != 0 || is_of_host(item->d_name))
            continue;
        snprintf(path, sizeof(path), "/proc/%.16s/mountinfo", item->d_name);
        if (hm_file_read(path, text, MOST_MOUNTINFO, NULL) == 0 && hm_mountinfo_has(text, status.st_rdev) &&
            detach_in(item->d_name, status.st_rdev, text))
            hm_holders_add(names, size, item->d_name, n++);
    }
done:
    if (proc)
        closedir(proc);
    free(text);
    return n;
}
