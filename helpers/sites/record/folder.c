/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/flock.h"

#define NAME "hybridmem-sites."
#define FORM NAME "XXXXXX"
#define TRIES 8 /* others may take a new folder for one that is left */

static int open_folder(int place, const char *path)
{
    return openat(place, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_files(int fd)
{
    int other = open_folder(fd, ".");
    DIR *files = other < 0 ? NULL : fdopendir(other);
    for (struct dirent *entry; files && (entry = readdir(files)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(fd, entry->d_name, 0);
    if (files)
        closedir(files);
    else if (other >= 0)
        close(other);
}

void hm_folder_remove(const char *folder, int fd)
{
    remove_files(fd);
    rmdir(folder);
    hm_flock_close(fd);
}

/* Removes the folder of that name where it is this user's, and nobody holds it. */
static void remove_left(int place, const char *name)
{
    struct stat status;
    int fd = open_folder(place, name);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && hm_flock_try(fd) == 0) {
        remove_files(fd);
        unlinkat(place, name, AT_REMOVEDIR);
    }
    hm_flock_close(fd);
}

static void sweep(const char *place)
{
    DIR *folder = opendir(place);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (strncmp(entry->d_name, NAME, strlen(NAME)) == 0 && strlen(entry->d_name) == strlen(FORM))
            remove_left(dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
}

/* Opens and locks a new folder. Returns -1 (EAGAIN) where another recorder removes it meanwhile. */
static int hold(const char *folder)
{
    struct stat status;
    int fd = open_folder(AT_FDCWD, folder);
    if (fd < 0)
        return -1;
    bool is_taken = hm_flock_try(fd) != 0 && errno == EWOULDBLOCK;
    if (!is_taken && stat(folder, &status) == 0)
        return fd;
    hm_flock_close(fd);
    errno = EAGAIN;
    return -1;
}

static int make_in(const char *place, char folder[HM_SITES_PATH])
{
    sweep(place);
    for (int i = 0; i < TRIES; i++) {
        int fd = -1;
        if (snprintf(folder, HM_SITES_PATH, "%s/" FORM, place) >= HM_SITES_PATH || !mkdtemp(folder))
            return -1;
        if ((fd = hold(folder)) >= 0)
            return fd;
    }
    return -1;
}

int hm_folder_make(char folder[HM_SITES_PATH], struct hm_error *error)
{
    const char *places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int fd = places[i] && places[i][0] == '/' ? make_in(places[i], folder) : -1;
        if (fd >= 0)
            return fd;
    }
    folder[0] = '\0';
    return hm_fail_errno(error, "no folder can be made for the recording in /dev/shm, TMPDIR or /tmp");
}
