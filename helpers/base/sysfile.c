/* SPDX-License-Identifier: Apache-2.0 */
#include "sysfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "size.h"

int hm_sysfile_open(int folder, const char *path)
{
    struct stat status;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

int hm_sysfile_read_open(int fd, char *text, size_t size)
{
    struct stat status;
    ssize_t length = hm_file_read_open(fd, text, size);
    if (length < 0)
        return -1;
    if (fstat(fd, &status) != 0 || status.st_nlink == 0) {
        errno = ENODEV;
        return -1;
    }
    bool is_whole = (size_t)length < size - 1; /* else more may follow */
    char *end = strchr(text, '\n');
    if (end && end == text + length - 1) {
        *end = '\0';
        length--;
    }
    if (length > 0 && is_whole && strlen(text) == (size_t)length && !strchr(text, '\n'))
        return 0;
    errno = EBADMSG;
    return -1;
}

int hm_sysfile_read(int folder, const char *path, char *text, size_t size)
{
    int fd = hm_sysfile_open(folder, path);
    if (fd < 0)
        return -1;
    int result = hm_sysfile_read_open(fd, text, size), number = errno;
    close(fd);
    errno = number;
    return result;
}

int hm_sysfile_read_number(int folder, const char *path, uint64_t *number)
{
    char text[32];
    if (hm_sysfile_read(folder, path, text, sizeof(text)) != 0)
        return -1;
    if (hm_size_parse_number(text, 0, UINT64_MAX, number, NULL) == 0)
        return 0;
    errno = EBADMSG;
    return -1;
}

static bool is_plain(const char *name)
{
    return !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-")];
}

int hm_sysfile_list(int folder, const char *path, const char *pattern, char ***names)
{
    struct dirent **entries;
    int n = scandirat(folder, path, &entries, NULL, versionsort), kept = 0;
    if (n < 0)
        return -1;
    char **list = calloc((size_t)n + 1, sizeof(*list));
    bool has_room = list != NULL;
    for (int i = 0; i < n; i++) {
        if (has_room && is_plain(entries[i]->d_name) && fnmatch(pattern, entries[i]->d_name, FNM_PERIOD) == 0) {
            list[kept] = strdup(entries[i]->d_name);
            has_room = list[kept] != NULL;
            kept += has_room;
        }
        free(entries[i]);
    }
    free(entries);
    *names = list;
    if (has_room)
        return kept;
    if (list)
        hm_sysfile_free(list, kept);
    errno = ENOMEM;
    return -1;
}

void hm_sysfile_free(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}
