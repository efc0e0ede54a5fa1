/* SPDX-License-Identifier: Apache-2.0 */
#include "wiped.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/size.h"
#include "folder.h"
#include "wipe.h"

#define FOLDER HM_NAMESPACE_WIPED
#define TEXT (HM_OWNER_NAME + 48) /* room for the name and two numbers */

static const struct hm_config *place; /* for all wipes of this process; NULL: no progress is kept */

void hm_wiped_begin(const struct hm_config *config)
{
    place = config;
}

static int open_folder(struct hm_error *error)
{
    int node = hm_namespace_folder_open(place->run_dir, error);
    if (node < 0)
        return -1;
    int folder = hm_folder_open_own(node, FOLDER, 0700, error);
    close(node);
    return folder;
}

/* Write the text of the file. The newline shows that it was not cut off. The label's name is enough, as the label's
 * uuid is computed from it. */
static void format(char text[TEXT], const char *name, uint64_t bytes, uint64_t done)
{
    snprintf(text, TEXT, "%s %" PRIu64 " %" PRIu64 "\n", name, bytes, done);
}

/* Read the progress for this namespace. Returns 0 for anything but a complete file of hybridmem's. */
static uint64_t read_done(int folder, const char *name, uint64_t bytes)
{
    char text[TEXT], expected[TEXT];
    uint64_t done = 0;
    int fd = hm_file_open_own(folder, name);
    if (fd < 0)
        return 0;
    if (hm_file_read_open(fd, text, sizeof(text)) > 0) {
        char *number = strrchr(text, ' '), *end = strchr(text, '\n');
        if (number && end && end > number)
            *end = '\0';
        if (!number || hm_size_parse_number(number + 1, 0, bytes, &done, NULL) != 0)
            done = 0;
        if (end)
            *end = '\n';
    }
    close(fd);
    format(expected, name, bytes, done);
    return strcmp(text, expected) == 0 ? done : 0;
}

/* Read the progress and remove its file. Progress that cannot be removed is not used. */
static uint64_t take(const char *name, uint64_t bytes)
{
    int folder = place ? open_folder(NULL) : -1;
    if (folder < 0)
        return 0;
    uint64_t done = read_done(folder, name, bytes);
    if (unlinkat(folder, name, 0) != 0)
        done = 0;
    close(folder);
    return done;
}

static int keep(const char *name, uint64_t bytes, uint64_t done, struct hm_error *error)
{
    char text[TEXT];
    int folder = open_folder(error);
    if (folder < 0)
        return -1;
    format(text, name, bytes, done);
    int fd = hm_file_make(folder, name, text, strlen(text));
    int result =
        fd >= 0 ? 0 : hm_fail_errno(error, "cannot write %s/" HM_RUNDIR_NODE "/" FOLDER "/%s", place->run_dir, name);
    if (fd >= 0)
        close(fd);
    close(folder);
    return result;
}

/*
 * Resuming is safe because no user can have written to the device since the last try: its first bytes, which make it a
 * file system or a volume, are zeroed first, so nothing can be mounted (a device in use is not wiped at all), and only
 * root can open it. What root has written is found only where the check at the end reads (hm_wipe in wipe.h).
 */
int hm_wiped_wipe(const char *name, const char *device, uint64_t bytes, struct hm_error *error)
{
    struct hm_error why = {{0}}, how = {{0}};
    uint64_t done = take(name, bytes);
    int result = hm_wipe_on(device, bytes, &done, &why);
    int number = errno;
    if (result != 0 && number == ETIME && done > 0 && place && keep(name, bytes, done, &how) != 0)
        return hm_fail(error, ETIME, "%s; the next wipe begins anew: %s", why.text, how.text);
    return result == 0 ? 0 : hm_fail(error, number, "%s", why.text);
}

int hm_wiped_drop(const char *name, struct hm_error *error)
{
    int result = 0;
    if (!place)
        return 0;
    int folder = open_folder(error);
    if (folder < 0)
        return -1;
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
        result = hm_fail_errno(error, "cannot remove %s/" HM_RUNDIR_NODE "/" FOLDER "/%s", place->run_dir, name);
    close(folder);
    return result;
}

static bool is_there(const struct hm_namespace *there, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(there[i].name, name) == 0)
            return true;
    return false;
}

void hm_wiped_tidy(const struct hm_namespace *there, int n)
{
    struct dirent *item;
    int folder = place ? open_folder(NULL) : -1;
    DIR *names = folder < 0 ? NULL : fdopendir(folder);
    while (names && (item = readdir(names)))
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 && !is_there(there, n, item->d_name))
            (void)unlinkat(dirfd(names), item->d_name, 0);
    if (names)
        closedir(names);
    else if (folder >= 0)
        close(folder);
}
