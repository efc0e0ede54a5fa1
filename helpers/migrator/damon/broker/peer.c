/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/process.h"
#include "base/size.h"
#include "target.h"

#define STEP "/step_"
#define SECOND_NS UINT64_C(1000000000)
#define MOST_ENTRY (1 << 20) /* bytes; none is as long */

/* Reads a whole entry, terminated. The caller frees it. Returns NULL where there is no file of ours with this name, or
 * it cannot be read. */
static char *read_entry(int folder, const char *name)
{
    size_t length;
    int fd = hm_file_open_own(folder, name);
    char *text = fd < 0 ? NULL : hm_file_read_whole(fd, MOST_ENTRY, &length);
    if (fd >= 0)
        close(fd);
    return text;
}

/* Is `cgroup` that of a step of the entry's job, or below such a one? */
static bool is_in_step(const char *entry, const char *cgroup)
{
    const char *job = hm_fields_find(entry, "cgroup");
    size_t length = job ? strcspn(job, "\n") : 0;
    return length > 0 && strncmp(cgroup, job, length) == 0 && strncmp(cgroup + length, STEP, strlen(STEP)) == 0;
}

static int take_uid(const char *entry, uid_t *owner)
{
    char word[16];
    uint64_t uid;
    const char *text = hm_fields_find(entry, "uid");
    size_t length = text ? strcspn(text, "\n") : sizeof(word);
    if (length >= sizeof(word))
        return -1;
    memcpy(word, text, length);
    word[length] = '\0';
    if (hm_size_parse_number(word, 0, UINT32_MAX - 1, &uid, NULL) != 0)
        return -1;
    *owner = (uid_t)uid;
    return 0;
}

int hm_damon_peer_owner(const char *run_dir, const char *cgroup, uid_t *owner)
{
    char path[300];
    struct dirent *item;
    uint64_t id;
    int result = -1;
    if (!strstr(cgroup, STEP))
        return hm_fail(NULL, ENOENT, "%s is in no step", cgroup);
    snprintf(path, sizeof(path), "%s/jobs", run_dir);
    DIR *names = opendir(path);
    while (names && result != 0 && (item = readdir(names))) {
        if (hm_size_parse_number(item->d_name, 0, UINT32_MAX, &id, NULL) != 0)
            continue;
        char *entry = read_entry(dirfd(names), item->d_name);
        if (entry && is_in_step(entry, cgroup))
            result = take_uid(entry, owner);
        free(entry);
    }
    if (names)
        closedir(names);
    return result == 0 ? 0 : hm_fail(NULL, ENOENT, "no job has the cgroup %s", cgroup);
}

/* Is this still a process of the user who connected? Its number may belong to another user's process meanwhile. */
static bool is_still_of(pid_t pid, uid_t uid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == uid;
}

static int find_job(const char *run_dir, struct hm_damon_peer *peer, struct hm_error *error)
{
    char cgroup[1024];
    peer->owner = peer->uid;
    if (peer->uid == 0)
        return 0;
    if (!is_still_of(peer->pid, peer->uid) || hm_cgroup_of(peer->pid, cgroup, sizeof(cgroup)) != 0 ||
        hm_damon_peer_owner(run_dir, cgroup, &peer->owner) != 0)
        return hm_fail(error, EPERM, "DAMON is lent to the steps of jobs alone: process %d is in none", (int)peer->pid);
    return hm_damon_targets_live(&peer->pidfd, 1) ? 0 : hm_fail(error, ESRCH, "process %d has ended", (int)peer->pid);
}

/* Finds when the process began. Where that is not known, it is taken to be old. */
static void find_age(struct hm_damon_peer *peer)
{
    struct hm_process process;
    const long ticks = sysconf(_SC_CLK_TCK);
    peer->age_s = UINT32_MAX;
    if (hm_process_identify(peer->pid, &process) != 0 || ticks <= 0)
        return;
    peer->start_time = process.start_time;
    peer->age_s = hm_less(hm_clock_ns(CLOCK_BOOTTIME) / SECOND_NS, process.start_time / (uint64_t)ticks);
}

int hm_damon_peer_find(const char *run_dir, int fd, struct hm_damon_peer *peer, struct hm_error *error)
{
    struct ucred credentials;
    socklen_t length = sizeof(credentials);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
        return hm_fail_errno(error, "cannot tell who has connected");
    *peer = (struct hm_damon_peer){.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
    peer->pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
    if (peer->pidfd < 0)
        return hm_fail(error, ESRCH, "process %d has ended", (int)peer->pid);
    find_age(peer);
    if (find_job(run_dir, peer, error) == 0)
        return 0;
    int number = errno;
    close(peer->pidfd);
    errno = number;
    return -1;
}

/* Reads the cgroup of the step that a process or thread is in. Returns false where it is in none. The first name
 * counts: what a user may make is below a step. */
static bool read_step(pid_t pid, char *out, size_t size)
{
    char *step = hm_cgroup_of(pid, out, size) == 0 ? strstr(out, STEP) : NULL;
    if (!step)
        return false;
    step[1 + strcspn(step + 1, "/")] = '\0';
    return true;
}

bool hm_damon_peer_shares_step(const struct hm_damon_peer *peer, pid_t thread)
{
    char own[1024], its[1024];
    return read_step(peer->pid, own, sizeof(own)) && read_step(thread, its, sizeof(its)) && strcmp(own, its) == 0 &&
           hm_damon_targets_live(&peer->pidfd, 1);
}
