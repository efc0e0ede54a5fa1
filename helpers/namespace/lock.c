/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "../job/files.h"

#define LOCK "namespace.lock"

int hm_lock_take(const struct hm_config *config, struct hm_error *error)
{
    int result;
    int folder = hm_folder_open_own(AT_FDCWD, config->run_dir, 0755, error);
    if (folder < 0)
        return -1;
    int lock = openat(folder, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    close(folder);
    if (lock < 0)
        return hm_fail_errno(error, "cannot open %s/" LOCK, config->run_dir);
    do
        result = flock(lock, LOCK_EX);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return lock;
    hm_fail_errno(error, "cannot lock %s/" LOCK, config->run_dir);
    close(lock);
    return -1;
}
