/* SPDX-License-Identifier: Apache-2.0 */
#include "firstmount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

static int give(const char *place, uid_t uid, struct hm_error *error)
{
    int result = -1;
    int root = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (root < 0)
        return hm_fail_errno(error, "cannot open the new file system");
    /* The mode lets only the owner enter. The group stays root. */
    if (fchown(root, uid, (gid_t)-1) != 0 || fchmod(root, 0700) != 0)
        hm_fail_errno(error, "cannot give the new file system to uid %u", uid);
    else
        result = 0;
    close(root);
    return result;
}

/* Check for DAX with a file: some kernels mount without DAX where they cannot mount with it, and only a file shows
 * that. */
static int check_dax(const char *place, const char *device, struct hm_error *error)
{
    int file = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0)
        return hm_fail_errno(error, "cannot make a file in the new file system of %s", device);
    int result = hm_file_is_dax(file);
    if (result < 0)
        hm_fail_errno(error, "cannot tell whether %s was mounted with DAX", device);
    else
        result = result > 0 ? 0 : hm_fail(error, ENOTSUP, "%s was mounted, but without DAX", device);
    close(file);
    return result;
}

/* Mount in a mount namespace of this process's own. mount(2) is used directly, as libmount would add options of the
 * host's fstab, and write to the host's mount tables. */
static int mount_alone(const char *device, const char *filesystem, const char *place, struct hm_error *error)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return hm_fail_errno(error, "cannot make a mount namespace");
    if (mount(device, place, filesystem, MS_NOSUID | MS_NODEV, "dax") != 0)
        return hm_fail_errno(error, "cannot mount %s (%s) with DAX", device, filesystem);
    return 0;
}

int hm_look_mount(const char *device, const char *filesystem, const char *place, struct hm_error *error)
{
    if (mount_alone(device, filesystem, place, error) != 0)
        return -1;
    return umount2(place, 0) == 0 ? 0 : hm_fail_errno(error, "cannot unmount %s", device);
}

int hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid, struct hm_error *error)
{
    if (mount_alone(device, filesystem, place, error) != 0)
        return -1;
    int result = check_dax(place, device, error) == 0 ? give(place, uid, error) : -1;
    if (umount2(place, 0) != 0 && result == 0)
        result = hm_fail_errno(error, "cannot unmount %s", device);
    return result;
}
