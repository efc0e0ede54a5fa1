/* SPDX-License-Identifier: Apache-2.0 */
#include "firstmount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/looktext.h"

/* How long the child may take. Others who make or remove namespaces wait meanwhile, and users can delay a trial mount,
 * so its time is short. Nothing but the node's load can delay the mount of a new file system. */
#define PATIENCE_S 10
#define PATIENCE_NEW_S 60

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

struct wanted {
    const char *device, *filesystem, *place;
    bool is_new; /* also check for DAX, and make `uid` the owner */
    uid_t uid;
};

/* Locks a file of the device's name: a trial that is stuck is the only one of its device, so that trials do not pile
 * up. Returns its descriptor, or -1. */
static int take_turn(const struct wanted *wanted, struct hm_error *error)
{
    int parent = open(wanted->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int folder = parent < 0 ? hm_fail_errno(error, "cannot open %s", wanted->place)
                            : hm_folder_open_own(parent, HM_MOUNT_TRIALS, 0700, error);
    if (parent >= 0)
        close(parent);
    if (folder < 0)
        return -1;
    int file = hm_flock_open(folder, strrchr(wanted->device, '/') + 1);
    close(folder);
    if (file < 0)
        return hm_fail_errno(error, "no lock for the trial mount of %s", wanted->device);
    if (hm_flock_try(file) == 0)
        return file;
    if (errno == EWOULDBLOCK)
        hm_fail(error, EBUSY, "%s is still being unmounted", wanted->device);
    else
        hm_fail_errno(error, "the lock for the trial mount of %s", wanted->device);
    close(file);
    return -1;
}

/*
 * Mounts and unmounts, in a mount namespace of its own. Returns 0 or -1. mount(2) is used directly, as libmount would
 * add options of the host's fstab, and write to the host's mount tables. The mounts are slaves of the host's: what the
 * host unmounts later does not stay in use by a child that was left behind.
 */
static int mount_once(const struct wanted *wanted, struct hm_error *error)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return hm_fail_errno(error, "cannot make a mount namespace");
    if (mount(wanted->device, wanted->place, wanted->filesystem, MS_NOSUID | MS_NODEV, "dax") != 0)
        return hm_fail_errno(error, "cannot mount %s (%s) with DAX", wanted->device, wanted->filesystem);
    int result = 0;
    if (wanted->is_new)
        result = check_dax(wanted->place, wanted->device, error) == 0 ? give(wanted->place, wanted->uid, error) : -1;
    int number = errno;
    if (umount2(wanted->place, 0) != 0 && result == 0) {
        result = hm_fail_errno(error, "cannot unmount %s", wanted->device);
        number = errno;
    }
    errno = number;
    return result;
}

/* Runs in a child process. Returns 0 or an errno. */
static int mount_here(const void *question, void *found)
{
    const struct wanted *wanted = question;
    return mount_once(wanted, found) == 0 ? 0 : errno;
}

/*
 * Runs in a child process. Mounts on the folder of the trials, as a user can make the mount last: the kernel holds that
 * folder's own lock meanwhile, which only trials need. Returns 0 or an errno.
 */
static int try_here(const void *question, void *found)
{
    const struct wanted *wanted = question;
    char place[PATH_MAX];
    int turn = take_turn(wanted, found);
    /* Without a turn nothing is known of the file system: EBUSY says that it is to be tried again. */
    if (turn < 0)
        return EBUSY;
    snprintf(place, sizeof(place), "%s/" HM_MOUNT_TRIALS, wanted->place);
    const struct wanted trial = {.device = wanted->device, .filesystem = wanted->filesystem, .place = place};
    int number = mount_once(&trial, found) == 0 ? 0 : errno;
    hm_flock_close(turn);
    return number;
}

static int mount_in_child(const struct wanted *wanted, struct hm_error *error)
{
    char cannot[HM_ERROR_TEXT / 2];
    snprintf(cannot, sizeof(cannot), "cannot mount %s", wanted->device);
    const struct hm_lookwork work = {.run = wanted->is_new ? mount_here : try_here,
                                     .question = wanted,
                                     .patience_ms = (wanted->is_new ? PATIENCE_NEW_S : PATIENCE_S) * 1000,
                                     .cannot = cannot,
                                     .late = "it is still being unmounted"};
    int result = hm_looktext_do(&work, error);
    if (result != 0 && errno == ETIMEDOUT)
        errno = EBUSY;
    return result;
}

int hm_look_mount(const char *device, const char *filesystem, const char *place, struct hm_error *error)
{
    return mount_in_child(&(struct wanted){.device = device, .filesystem = filesystem, .place = place}, error);
}

int hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid, struct hm_error *error)
{
    const struct wanted wanted = {device, filesystem, place, .is_new = true, .uid = uid};
    return mount_in_child(&wanted, error);
}
