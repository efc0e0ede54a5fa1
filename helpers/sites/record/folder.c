/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/flock.h"
#include "base/heldfolder.h"

#define TRIES 8 /* others may take a new folder for one that is left */

void hm_folder_remove(const char *folder, int fd)
{
    hm_heldfolder_empty(fd);
    rmdir(folder);
    hm_flock_close(fd);
}

/* Opens and locks a new folder. Returns -1 (EAGAIN) where another recorder removes it meanwhile. */
static int hold(const char *folder)
{
    struct stat status;
    int fd = hm_heldfolder_open(AT_FDCWD, folder);
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
    hm_heldfolder_sweep(place);
    for (int i = 0; i < TRIES; i++) {
        int fd = -1;
        if (snprintf(folder, HM_SITES_PATH, "%s/" HM_HELDFOLDER_FORM, place) >= HM_SITES_PATH || !mkdtemp(folder))
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
