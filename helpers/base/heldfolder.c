/* SPDX-License-Identifier: Apache-2.0 */
#include "heldfolder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flock.h"

#define FORM HM_HELDFOLDER_FORM

int hm_heldfolder_open(int at, const char *path)
{
    return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void hm_heldfolder_empty(int fd)
{
    int other = hm_heldfolder_open(fd, ".");
    DIR *files = other < 0 ? NULL : fdopendir(other);
    for (struct dirent *entry; files && (entry = readdir(files)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(fd, entry->d_name, 0);
    if (files)
        closedir(files);
    else if (other >= 0)
        close(other);
}

/* Removes the folder of that name where it is this user's, and nobody holds it. */
static void remove_left(int place, const char *name)
{
    struct stat status;
    int fd = hm_heldfolder_open(place, name);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && hm_flock_try(fd) == 0) {
        hm_heldfolder_empty(fd);
        unlinkat(place, name, AT_REMOVEDIR);
    }
    hm_flock_close(fd);
}

static bool has_form(const char *name)
{
    return strlen(name) == strlen(FORM) && strncmp(name, FORM, strcspn(FORM, "X")) == 0;
}

void hm_heldfolder_sweep(const char *place)
{
    DIR *folder = opendir(place);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (has_form(entry->d_name))
            remove_left(dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
}
