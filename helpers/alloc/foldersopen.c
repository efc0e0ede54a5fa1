/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file in each folder of HYBRIDMEM_FSDAX_DIRS, and finds out which of the folders can be used. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/files.h"
#include "folders.h"
#include "layout.h"

#define RESERVE 50 /* a 50th of a folder's room is left free */
#define MOST_DIGITS 6
#define SHOWN 80 /* characters of a folder's path that a reason shows */

/* Open a file in the next folder. Returns whether the folder can be used. */
static bool open_one(struct hm_folders *folders, const char *path, char *reason)
{
    struct statvfs room;
    int i = folders->n++;
    folders->room_bytes[i] = 0;
    folders->fd[i] = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (folders->fd[i] < 0) {
        hm_reason_add(reason, "no file can be made in %.*s: %s", SHOWN, path, strerror(errno));
        return false;
    }
    if (hm_file_is_dax(folders->fd[i]) > 0 && fstatvfs(folders->fd[i], &room) == 0) {
        folders->room_bytes[i] = (uint64_t)room.f_bavail * room.f_frsize;
        /* For the file system's metadata, which grows with the file. */
        folders->room_bytes[i] -= folders->room_bytes[i] / RESERVE;
        return true;
    }
    hm_reason_add(reason, "%.*s is not on a DAX file system", SHOWN, path);
    close(folders->fd[i]);
    folders->fd[i] = -1;
    return false;
}

/* Read the socket's number before a path, as in "0=/path". Returns the length of number and "="; 0 where there is
 * none. */
static size_t read_number(const char *at, int *socket)
{
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || digits > MOST_DIGITS || at[digits] != '=')
        return 0;
    *socket = (int)strtol(at, NULL, 10);
    return digits + 1;
}

void hm_folders_open(struct hm_folders *folders, const char *list, char *reason)
{
    char path[4096];
    bool is_usable = false;
    folders->n = 0;
    for (const char *at = list, *end; at && *at && folders->n < HM_FOLDERS; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ":");
        if (end == at)
            continue;
        folders->socket[folders->n] = folders->n;
        at += read_number(at, &folders->socket[folders->n]);
        snprintf(path, sizeof(path), "%.*s", (int)(end - at), at);
        is_usable = open_one(folders, path, reason) || is_usable;
    }
    if (!is_usable)
        folders->n = 0;
}
