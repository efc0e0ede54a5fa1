/* SPDX-License-Identifier: Apache-2.0 */
#include "asked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bootid.h"
#include "base/fields.h"
#include "base/files.h"

#define NAME "memmode"
#define DRAFT ".memmode" /* what a crash may have left of an earlier write */
#define MOST_BYTES 512

static bool is_mode(const void *value)
{
    return strcmp(value, "flat") == 0 || strcmp(value, "cache") == 0 || strcmp(value, "mixed") == 0;
}

static bool is_given(const void *value)
{
    return *(const char *)value != '\0';
}

static const struct hm_field table[] = {
    HM_FIELD(hm_asked, mode, .is_right = is_mode),
    HM_FIELD(hm_asked, is_unsure),
    HM_FIELD(hm_asked, boot_id, .is_right = is_given),
    {.name = NULL},
};
static const struct hm_fields fields = {"memmode", table, MOST_BYTES};

static int open_folder(const struct hm_config *config, struct hm_error *error)
{
    return hm_folder_open_own(AT_FDCWD, config->state_dir, HM_FOLDER_PASS, error);
}

/* Put the text on the disk under its name. Returns 0, or -1 with errno. */
static int put(int folder, const char *text, size_t length)
{
    (void)unlinkat(folder, DRAFT, 0);
    int fd = hm_file_make(folder, DRAFT, text, length);
    if (fd < 0)
        return -1;
    int result = fsync(fd) == 0 && renameat(folder, DRAFT, folder, NAME) == 0 && fsync(folder) == 0 ? 0 : -1;
    int number = errno;
    close(fd);
    if (result != 0)
        (void)unlinkat(folder, DRAFT, 0);
    errno = number;
    return result;
}

int hm_asked_write(const struct hm_config *config, const char *mode, bool is_unsure, struct hm_error *error)
{
    struct hm_asked asked = {.is_unsure = is_unsure};
    char text[MOST_BYTES];
    hm_text_copy(asked.mode, mode, sizeof(asked.mode));
    hm_boot_id(asked.boot_id, sizeof(asked.boot_id));
    if (hm_fields_check(table, &asked, error) != 0)
        return -1;
    ssize_t length = hm_fields_format(&fields, &asked, NULL, text, error);
    int folder = length < 0 ? -1 : open_folder(config, error);
    if (folder < 0)
        return -1;
    int result = put(folder, text, (size_t)length);
    if (result != 0)
        hm_fail_errno(error, "cannot write %s/" NAME, config->state_dir);
    int number = errno;
    close(folder);
    errno = number;
    return result;
}

int hm_asked_read(const struct hm_config *config, struct hm_asked *asked, struct hm_error *error)
{
    struct hm_error why = {{0}};
    char text[MOST_BYTES];
    *asked = (struct hm_asked){0};
    /* Who only reads does not make the folder, nor fails where it cannot be made. */
    if (access(config->state_dir, F_OK) != 0 && errno == ENOENT)
        return 0;
    int folder = open_folder(config, error);
    if (folder < 0)
        return -1;
    int fd = hm_file_open_own(folder, NAME);
    int number = errno;
    close(folder);
    if (fd < 0 && number == ENOENT)
        return 0;
    errno = number;
    ssize_t length = fd < 0 ? -1 : hm_file_read_open(fd, text, sizeof(text));
    if (length < 0)
        hm_fail_errno(&why, "cannot read it");
    else
        (void)hm_fields_parse(&fields, text, asked, &why);
    number = errno;
    if (fd >= 0)
        close(fd);
    return why.text[0] ? hm_fail(error, number, "%s/" NAME ": %s: remove the file, once you have looked at the node",
                                 config->state_dir, why.text)
                       : 1;
}

int hm_asked_remove(const struct hm_config *config, struct hm_error *error)
{
    int folder = open_folder(config, error);
    if (folder < 0)
        return -1;
    int result = 0;
    if (unlinkat(folder, NAME, 0) == 0)
        result = fsync(folder);
    else if (errno != ENOENT)
        result = -1;
    if (result != 0)
        hm_fail_errno(error, "cannot remove %s/" NAME, config->state_dir);
    int number = errno;
    close(folder);
    errno = number;
    return result;
}

int hm_asked_allows(const struct hm_config *config, struct hm_error *error)
{
    struct hm_asked asked;
    int found = hm_asked_read(config, &asked, error);
    if (found <= 0 || hm_boot_is_past(asked.boot_id))
        return found < 0 ? -1 : 0;
    return hm_fail(
        error, EBUSY,
        "this node was asked for memmode=%s, and its next boot %s all namespaces: boot it, or take that back "
        "by asking 'hybridmem-memmode' for the mode that 'hybridmem memmode' shows",
        asked.mode, asked.is_unsure ? "may end" : "ends");
}
