/* SPDX-License-Identifier: Apache-2.0 */
#include "daxmount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000 /* Linux 5.8 */
#endif

/* Some kernels mount without DAX what cannot have it, and only a file says so. */
static int check_dax(int root, const char *path, struct hm_error *error)
{
    struct statx status;
    int result = -1;
    int file = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    /* The user has filled it, in an earlier step, which has seen the check. */
    if (file < 0 && (errno == ENOSPC || errno == EDQUOT))
        return 0;
    if (file < 0)
        return hm_fail_errno(error, "no file can be made in the DAX file system %s", path);
    if (statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0)
        hm_fail_errno(error, "cannot look at a file of the DAX file system %s", path);
    else if (!(status.stx_attributes & STATX_ATTR_DAX))
        hm_fail(error, ENOTSUP, "%s was mounted without DAX: the kernel does not have it for this device", path);
    else
        result = 0;
    close(file);
    return result;
}

/* mount(2) itself: this is in the plugin, which links as little as it can, and libmount would look into fstab. */
static int mount_one(const struct hm_job_namespace *one, const char *path, struct hm_error *error)
{
    if (hm_dax_check_device(HM_SYSFS, one, error) != 0)
        return -1;
    if (mount(one->device, path, one->fs, MS_NOSUID | MS_NODEV, "dax") != 0)
        return hm_fail_errno(error, "cannot mount %s (%s, dax) on %s", one->device, one->fs, path);
    /* Once more: from here on it stays the same. */
    if (hm_dax_check_device(HM_SYSFS, one, error) != 0)
        return -1;
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (root < 0)
        return hm_fail_errno(error, "cannot open %s", path);
    int result = check_dax(root, path, error);
    close(root);
    return result;
}

int hm_daxmount(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                struct hm_error *error)
{
    char path[HM_DAX_PATH];
    if (namespaces->n == 0)
        return 0;
    /* Slaves of the host's mounts, not private ones: what an automounter mounts or takes away counts here too. */
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return hm_fail_errno(error, "cannot make a mount namespace for the DAX file systems");
    for (uint32_t i = 0; i < namespaces->n; i++)
        if (mount_one(&namespaces->each[i], hm_dax_path(config, job_id, namespaces->each[i].socket, path), error) != 0)
            return -1;
    return 0;
}
