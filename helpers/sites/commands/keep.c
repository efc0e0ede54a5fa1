/* SPDX-License-Identifier: Apache-2.0 */
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/flock.h"
#include "commands.h"
#include "sites/profile/merge.h"
#include "sites/store/store.h"

/*
 * Hundreds of a step's tasks end together, on one node or on many, and have one profile. To read one, to add it up and
 * to write the sum takes a tenth of a second and more: one after the other, they would not be done in time. So the lock
 * is held for a look alone. Who finds a profile takes it out of its place, and comes again with the sum; meanwhile
 * others find the place free, and do the same.
 */
struct place {
    char folder[PATH_MAX], path[PATH_MAX], taken[PATH_MAX];
    struct hm_newfile file; /* what is to be put there; without a descriptor while it is not written */
};

enum found { FAILED, IS_FREE, IS_TAKEN, IS_PLACED };

/* Is there a profile? Returns 1 or 0, or -1 with a text. */
static int is_there(const struct place *place, struct hm_error *error)
{
    if (access(place->path, F_OK) == 0)
        return 1;
    return errno == ENOENT ? 0 : hm_fail_errno(error, "%s", place->path);
}

/* Gives the profile that is there a name of its own, which is none of a profile. */
static enum found take(struct place *place, struct hm_error *error)
{
    int length = snprintf(place->taken, PATH_MAX, "%s.XXXXXX", place->path);
    errno = ENAMETOOLONG;
    int fd = length < PATH_MAX ? mkostemp(place->taken, O_CLOEXEC) : -1;
    if (fd >= 0 && rename(place->path, place->taken) == 0) {
        (void)utimensat(AT_FDCWD, place->taken, NULL, 0); /* hm_store_trim removes what is old */
        close(fd);
        return IS_TAKEN;
    }
    hm_fail_errno(error, "%s", place->path);
    if (fd >= 0) {
        close(fd);
        unlink(place->taken);
    }
    place->taken[0] = '\0';
    return FAILED;
}

/* Under the lock. */
static enum found look(struct place *place, struct hm_error *error)
{
    int status = is_there(place, error);
    if (status != 0)
        return status < 0 ? FAILED : take(place, error);
    if (place->file.fd < 0)
        return IS_FREE;
    if (hm_newfile_place(&place->file) == 0)
        return IS_PLACED;
    hm_fail_errno(error, "%s", place->path);
    return FAILED;
}

static enum found look_alone(struct place *place, const char *build_id, struct hm_error *error)
{
    int lock = hm_store_lock(build_id, place->folder, error);
    enum found found = lock < 0 ? FAILED : look(place, error);
    hm_flock_close(lock);
    return found;
}

/*
 * Adds the profile that was taken. Of two that cannot be summed, as those by different sources of samples, that of
 * more processes stays: *profile may be another then, and *read, which is to be freed, is that one. Returns 0, or -1
 * with a text: something is not in the sum.
 */
static int add_taken(struct place *place, struct hm_profile **profile, struct hm_profile **read, struct hm_error *error)
{
    struct hm_profile *other = hm_profile_read(place->taken, error);
    if (!other) {
        place->taken[0] = '\0'; /* it stays under this name, which the text has */
        return -1;
    }
    int status = hm_profile_merge(*profile, other, place->path, error);
    if (status < 0 && (errno != EINVAL || other->processes > (*profile)->processes)) {
        hm_profile_free(*read);
        *profile = *read = other;
    } else {
        hm_profile_free(other);
    }
    return status;
}

/* Writes what is to be put into the place; to the disk, too, for which nobody is to wait under the lock. */
static int write_file(struct place *place, const struct hm_profile *profile, struct hm_error *error)
{
    hm_newfile_close(&place->file);
    if (hm_newfile_open(&place->file, place->path, "app.json", error) < 0 ||
        hm_sites_put(profile, &place->file, error) < 0)
        return -1;
    return fsync(place->file.fd) == 0 ? 0 : hm_fail_errno(error, "%s", place->path);
}

/* Where the sum cannot be written, what was taken comes back, unless another is there by now. */
static void give_back(const struct place *place, const char *build_id)
{
    char folder[PATH_MAX];
    if (!place->taken[0])
        return;
    int lock = hm_store_lock(build_id, folder, NULL);
    if (lock >= 0 && is_there(place, NULL) == 0)
        (void)rename(place->taken, place->path);
    hm_flock_close(lock);
}

/* What was taken is in this process's file alone: it is placed without the lock, too, where nothing is in its way. */
static bool place_anyway(const struct place *place)
{
    return place->file.fd >= 0 && link(place->file.temporary, place->path) == 0;
}

/* Finds the profile's place, whose folder exists. Returns 0, or -1 with a text. */
static int find_place(struct place *place, const char *name, struct hm_error *error)
{
    if (snprintf(place->path, PATH_MAX, "%s/%s.json", place->folder, name) < PATH_MAX)
        return 0;
    return hm_fail(error, ENAMETOOLONG, "the path of the store of profiles is too long");
}

int hm_sites_keep(struct hm_profile *profile, const char *build_id, const char *name, struct hm_error *error)
{
    struct place place = {.file = {.fd = -1}};
    struct hm_profile *read = NULL;
    enum found found = FAILED;
    int status = 0;
    if (hm_store_make(build_id, place.folder, error) < 0 || find_place(&place, name, error) < 0)
        return -1;
    do {
        place.taken[0] = '\0';
        found = look_alone(&place, build_id, error);
        if (found == IS_TAKEN && add_taken(&place, &profile, &read, error) < 0)
            status = -1;
        if ((found == IS_FREE || found == IS_TAKEN) && write_file(&place, profile, error) < 0) {
            hm_newfile_close(&place.file);
            give_back(&place, build_id);
            found = FAILED;
        } else if (place.taken[0]) {
            unlink(place.taken);
        }
    } while (found == IS_FREE || found == IS_TAKEN);
    if (found == FAILED && place_anyway(&place))
        found = IS_PLACED;
    if (found == IS_PLACED)
        hm_store_trim(place.folder);
    hm_newfile_close(&place.file);
    hm_profile_free(read);
    return found == IS_PLACED ? status : -1;
}

int hm_sites_can_keep(const char *build_id, const char *name, char path[PATH_MAX], struct hm_error *error)
{
    struct place place = {.file = {.fd = -1}};
    if (hm_store_make(build_id, place.folder, error) < 0 || find_place(&place, name, error) < 0)
        return -1;
    memcpy(path, place.path, PATH_MAX);
    int status = hm_newfile_open(&place.file, path, "app.json", error);
    hm_newfile_close(&place.file);
    return status;
}
