/* SPDX-License-Identifier: Apache-2.0 */
#include "pending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "append.h"
#include "base/files.h"
#include "base/rundir.h"
#include "dayfile.h"

#define FOLDER "pending"
#define SUFFIX ".json"

/* The name is <end in ns, 19 digits>_<job>_<uid>_<gid>_<node>.json: sorted by name, records are sorted by time. */
static void format_name(const struct hm_store_key *key, char *name, size_t size)
{
    char node[HM_STORE_NODE];
    hm_store_node(key->node, node, sizeof(node));
    snprintf(name, size, "%019" PRId64 "_%u_%u_%u_%s" SUFFIX, key->end_ns > 0 ? key->end_ns : 0, key->job_id, key->uid,
             key->gid, node);
}

/* Reads digits up to the next "_". The number must be at most `most`. */
static int take_field(const char **text, uint64_t most, uint64_t *number)
{
    const char *at = *text;
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
            return -1;
    if (at == *text || *at != '_' || *number > most)
        return -1;
    *text = at + 1;
    return 0;
}

int hm_pending_parse(const char *name, struct hm_store_key *key, char *node, size_t size)
{
    char again[HM_PENDING_NAME];
    uint64_t end, job, uid, gid;
    const char *at = name;
    if (take_field(&at, INT64_MAX, &end) != 0 || take_field(&at, UINT32_MAX, &job) != 0 ||
        take_field(&at, UINT32_MAX, &uid) != 0 || take_field(&at, UINT32_MAX, &gid) != 0)
        return -1;
    size_t length = strlen(at);
    if (length <= strlen(SUFFIX) || length - strlen(SUFFIX) >= size)
        return -1;
    length -= strlen(SUFFIX);
    memcpy(node, at, length);
    node[length] = '\0';
    *key = (struct hm_store_key){
        .node = node, .job_id = (uint32_t)job, .uid = (uid_t)uid, .gid = (gid_t)gid, .end_ns = (int64_t)end};
    format_name(key, again, sizeof(again));
    return strcmp(again, name) == 0 ? 0 : -1;
}

char *hm_pending_path(const struct hm_config *config, enum hm_pending_place place, char *out)
{
    if (place == HM_PENDING_MEMORY)
        return hm_rundir_node_path(config->run_dir, FOLDER, out, HM_PENDING_PATH);
    snprintf(out, HM_PENDING_PATH, "%s/" FOLDER, config->state_dir);
    return out;
}

int hm_pending_open(const struct hm_config *config, enum hm_pending_place place, bool make, struct hm_error *error)
{
    const struct hm_rights state = {HM_FOLDER_PASS, geteuid(), getegid(), false},
                           pending = {0700, geteuid(), getegid(), false};
    int parent = place == HM_PENDING_MEMORY ? hm_rundir_open_node(config->run_dir, NULL, error)
                                            : hm_folder_open(AT_FDCWD, config->state_dir, make ? &state : NULL, error);
    if (parent < 0)
        return -1;
    int fd = hm_folder_open(parent, FOLDER, make ? &pending : NULL, error);
    int number = errno;
    close(parent);
    errno = number;
    return fd;
}

/* A folder of records that stays away must not fill the node's disk: slurmd keeps the jobs' scripts there, as a rule.
 */
static int check_disk(int folder, struct hm_error *error)
{
    struct statvfs room;
    if (fstatvfs(folder, &room) != 0)
        return hm_fail_errno(error, "pending/");
    return room.f_bavail >= room.f_blocks / HM_PENDING_ROOM && room.f_favail >= room.f_files / HM_PENDING_ROOM
               ? 0
               : hm_fail(error, ENOSPC,
                         "the file system of state_dir has less than a %dth of its space or of its files free",
                         HM_PENDING_ROOM);
}

/* A disk that stays full must not have the records of all jobs add up in memory: the ledger and the system's services
 * need what run_dir is on. */
static int check_memory(int folder, struct hm_error *error)
{
    struct stat status;
    struct dirent *item;
    off_t used = 0;
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = again < 0 ? NULL : fdopendir(again);
    if (!names) {
        hm_fail_errno(error, "pending/ cannot be listed");
        if (again >= 0)
            close(again);
        return -1;
    }
    while ((item = readdir(names)))
        if (fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
            used += status.st_size;
    closedir(names);
    return used < HM_PENDING_MEMORY_MOST
               ? 0
               : hm_fail(error, EXFULL, "the records that wait in memory have %d MiB", HM_PENDING_MEMORY_MOST >> 20);
}

int hm_pending_keep(const struct hm_config *config, enum hm_pending_place place, const struct hm_store_key *key,
                    const char *line, struct hm_error *error)
{
    char name[HM_PENDING_NAME], unfinished[HM_PENDING_NAME + 1];
    const struct hm_rights rights = {0600, geteuid(), getegid(), false};
    int result = -1;
    int folder = hm_pending_open(config, place, true, error);
    if (folder < 0)
        return -1;
    if ((place == HM_PENDING_MEMORY ? check_memory : check_disk)(folder, error) != 0) {
        int number = errno;
        close(folder);
        errno = number;
        return -1;
    }
    format_name(key, name, sizeof(name));
    snprintf(unfinished, sizeof(unfinished), ".%s", name);
    /* A process that was killed before its rename has left its line there: ours would be a second one. */
    unlinkat(folder, unfinished, 0);
    if (hm_line_append(folder, unfinished, &rights, line, 0, error) == 0) {
        /* The ledger's entry goes next: a crash after that must find the name. */
        bool is_there = renameat(folder, unfinished, folder, name) == 0 && fsync(folder) == 0;
        result = is_there ? 0 : hm_fail_errno(error, "pending/%s", name);
    }
    if (result != 0)
        unlinkat(folder, unfinished, 0);
    close(folder);
    return result;
}
