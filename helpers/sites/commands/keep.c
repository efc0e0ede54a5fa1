/* SPDX-License-Identifier: Apache-2.0 */
#include "keep.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/flock.h"
#include "commands.h"
#include "sites/profile/merge.h"
#include "sites/store/store.h"

/* Puts the profile that is there already, of another task, into this one. */
static int add_other(struct hm_profile *profile, const char *path, struct hm_error *error)
{
    if (access(path, F_OK) != 0)
        return errno == ENOENT ? 0 : hm_fail_errno(error, "%s", path);
    struct hm_profile *other = hm_profile_read(path, error);
    int status = other ? hm_profile_merge(profile, other, path, error) : -1;
    hm_profile_free(other);
    return status;
}

int hm_sites_keep(struct hm_profile *profile, const char *build_id, const char *name, struct hm_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct hm_newfile file = {.fd = -1};
    int lock = hm_store_lock(build_id, folder, error), status = -1;
    if (lock < 0)
        return -1;
    if (snprintf(path, sizeof(path), "%s/%s.json", folder, name) >= (int)sizeof(path))
        hm_fail(error, ENAMETOOLONG, "the path of the store of profiles is too long");
    else if (add_other(profile, path, error) == 0 && hm_newfile_open(&file, path, "app.json", error) == 0)
        status = hm_sites_write(profile, &file, error);
    hm_newfile_close(&file);
    if (status == 0)
        hm_store_trim(folder);
    hm_flock_close(lock);
    return status;
}

int hm_sites_can_keep(const char *build_id, const char *name, char path[PATH_MAX], struct hm_error *error)
{
    char folder[PATH_MAX];
    struct hm_newfile file;
    if (hm_store_make(build_id, folder, error) < 0)
        return -1;
    if (snprintf(path, PATH_MAX, "%s/%s.json", folder, name) >= PATH_MAX)
        return hm_fail(error, ENAMETOOLONG, "the path of the store of profiles is too long");
    int status = hm_newfile_open(&file, path, "app.json", error);
    hm_newfile_close(&file);
    return status;
}
