/* SPDX-License-Identifier: Apache-2.0 */
#include "daxmount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

/*
 * Checks that the file system really has DAX: some kernels mount it without DAX where the device cannot have it, and
 * only a file in it shows that.
 */
static int check_dax(int root, const char *path, struct hm_error *error)
{
    int file = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    /* The file system is full: an earlier task, perhaps of an earlier job, has filled it, and has passed this check. */
    if (file < 0 && (errno == ENOSPC || errno == EDQUOT))
        return 0;
    if (file < 0)
        return hm_fail_errno(error, "no file can be made in the DAX file system %s", path);
    int result = 0, is_dax = hm_file_is_dax(file);
    if (is_dax < 0)
        result = hm_fail_errno(error, "cannot look at a file of the DAX file system %s", path);
    else if (!is_dax)
        result =
            hm_fail(error, ENOTSUP, "%s was mounted without DAX: the kernel does not have it for this device", path);
    close(file);
    return result;
}

/*
 * Mounts one file system by mount(2), not by libmount: that would read fstab, and this code is in the plugin, which
 * links few libraries.
 */
static int mount_one(const struct hm_job_namespace *one, const char *path, struct hm_error *error)
{
    if (hm_dax_check_device(HM_SYSFS, one, error) != 0)
        return -1;
    if (mount(one->device, path, one->fs, MS_NOSUID | MS_NODEV, "dax") != 0)
        return hm_fail_errno(error, "cannot mount %s (%s, dax) on %s", one->device, one->fs, path);
    /* Check again: once mounted, the device cannot change any more. */
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
    /*
     * The mounts are slaves of the host's, not private: what an automounter mounts or unmounts later is still seen
     * here.
     */
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return hm_fail_errno(error, "cannot make a mount namespace for the DAX file systems");
    for (uint32_t i = 0; i < namespaces->n; i++)
        if (mount_one(&namespaces->each[i], hm_dax_path(config, job_id, namespaces->each[i].socket, path), error) != 0)
            return -1;
    return 0;
}
