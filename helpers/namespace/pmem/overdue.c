/* SPDX-License-Identifier: Apache-2.0 */
#include "overdue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/size.h"
#include "folder.h"
#include "keep.h"

#define FILE_NAME "overdue"
#define DRAFT FILE_NAME ".draft"
#define PATH HM_RUNDIR_NODE "/" FILE_NAME /* in run_dir */
#define LINE (HM_OWNER_NAME + 24)         /* room for a name and a number */
#define MOST (LINE * 4096)                /* bytes of the file */

static uint64_t boot_s(void)
{
    return (uint64_t)hm_clock_ms(CLOCK_BOOTTIME) / 1000;
}

char *hm_overdue_read(const struct hm_config *config)
{
    size_t length;
    int folder = hm_namespace_folder_open(config->run_dir, NULL);
    int fd = folder < 0 ? -1 : hm_file_open_own(folder, FILE_NAME);
    char *notes = fd < 0 ? NULL : hm_file_read_whole(fd, MOST, &length);
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    return notes;
}

/* Find the note of a namespace. Returns false where there is none, or none that a reap since the boot has made. */
static bool find_note(const char *notes, const char *name, uint64_t *due_s)
{
    char line[LINE];
    while (notes && *notes) {
        size_t length = strcspn(notes, "\n");
        snprintf(line, sizeof(line), "%.*s", length < LINE ? (int)length : 0, notes);
        char *blank = strchr(line, ' ');
        if (blank && strcmp(blank + 1, name) == 0) {
            *blank = '\0';
            return hm_size_parse_number(line, 0, boot_s() + HM_OVERDUE_S, due_s, NULL) == 0;
        }
        notes += length + (notes[length] == '\n');
    }
    return false;
}

static bool is_over(const struct hm_config *config, const struct hm_namespace *one, int64_t now_s)
{
    return one->owner.kind == HM_OWNER_USER && hm_keep_is_over(config, &one->owner, now_s);
}

bool hm_overdue_is_due(const struct hm_config *config, const char *notes, const struct hm_namespace *one, int64_t now_s)
{
    uint64_t due_s;
    return is_over(config, one, now_s) && find_note(notes, one->name, &due_s) && due_s <= boot_s();
}

/* Replace the file, so that it is whole at any moment. Returns 0 or -1. */
static int store(const struct hm_config *config, const char *text, struct hm_error *error)
{
    int folder = hm_namespace_folder_open(config->run_dir, error);
    if (folder < 0)
        return -1;
    (void)unlinkat(folder, DRAFT, 0);
    int fd = hm_file_make(folder, DRAFT, text, strlen(text));
    int result = fd >= 0 && renameat(folder, DRAFT, folder, FILE_NAME) == 0
                     ? 0
                     : hm_fail_errno(error, "cannot write %s/" PATH, config->run_dir);
    int number = errno;
    if (fd >= 0)
        close(fd);
    close(folder);
    errno = number;
    return result;
}

int hm_overdue_note(const struct hm_config *config, const char *notes, const struct hm_namespace *owned, int n,
                    int64_t now_s, struct hm_error *error)
{
    size_t used = 0, size = (size_t)(n > 0 ? n : 0) * LINE + 1;
    char *text = calloc(1, size);
    if (!text)
        return hm_fail(error, ENOMEM, "no memory to note what is past its age");
    for (int i = 0; i < n; i++) {
        uint64_t due_s;
        if (!is_over(config, &owned[i], now_s))
            continue;
        if (!find_note(notes, owned[i].name, &due_s))
            due_s = boot_s() + HM_OVERDUE_S;
        used += (size_t)snprintf(text + used, size - used, "%" PRIu64 " %s\n", due_s, owned[i].name);
    }
    int result = strcmp(text, notes ? notes : "") == 0 ? 0 : store(config, text, error);
    int number = errno;
    free(text);
    errno = number;
    return result;
}
