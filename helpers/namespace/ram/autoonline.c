/* SPDX-License-Identifier: Apache-2.0 */
#include "autoonline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

#define KEPT HM_AUTOONLINE_KEPT
#define OFFLINE "offline"
#define WORD 24
#define PATH 160

static char *path_of(const char *system, char path[PATH])
{
    snprintf(path, PATH, "%.128s/memory/auto_online_blocks", system);
    return path;
}

static bool is_policy(const char *word)
{
    static const char *const words[] = {OFFLINE, "online", "online_kernel", "online_movable"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Keep the policy. Returns 0 or -1. */
static int keep(int folder, const struct hm_config *config, const char *policy, struct hm_error *error)
{
    int fd = openat(folder, KEPT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return hm_fail_errno(error, "cannot write %s/" HM_RUNDIR_NODE "/" KEPT, config->run_dir);
    int result = write(fd, policy, strlen(policy)) == (ssize_t)strlen(policy)
                     ? 0
                     : hm_fail_errno(error, "cannot write %s/" HM_RUNDIR_NODE "/" KEPT, config->run_dir);
    close(fd);
    return result;
}

int hm_autoonline_hold(const char *system, const struct hm_config *config, struct hm_error *error)
{
    char path[PATH], policy[WORD];
    if (hm_file_read(path_of(system, path), policy, sizeof(policy), error) != 0)
        return -1;
    if (strcmp(policy, OFFLINE) == 0)
        return 0;
    if (!is_policy(policy))
        return hm_fail(error, EINVAL, "%s says \"%s\": hybridmem does not know that policy", path, policy);
    int folder = hm_namespace_folder_open(config->run_dir, error);
    if (folder < 0)
        return -1;
    int result = keep(folder, config, policy, error);
    if (result == 0 && hm_file_write(path, OFFLINE, error) != 0) {
        unlinkat(folder, KEPT, 0);
        result = -1;
    }
    close(folder);
    return result;
}

int hm_autoonline_release(const char *system, const struct hm_config *config, struct hm_error *error)
{
    char path[PATH], policy[WORD];
    int result = 0;
    int folder = hm_namespace_folder_open(config->run_dir, error);
    if (folder < 0)
        return -1;
    ssize_t length = hm_file_read_at(folder, KEPT, policy, sizeof(policy));
    if (length < 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot read %s/" HM_RUNDIR_NODE "/" KEPT, config->run_dir);
    if (length >= 0) {
        /* A process that was killed before it had written the file has not changed the policy. */
        if (is_policy(policy))
            result = hm_file_write(path_of(system, path), policy, error);
        if (result == 0)
            unlinkat(folder, KEPT, 0);
    }
    close(folder);
    return result;
}
