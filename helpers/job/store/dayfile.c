/* SPDX-License-Identifier: Apache-2.0 */
#include "dayfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "append.h"
#include "base/files.h"
#include "base/moment.h"
#include "core/config/lookup.h"
#include "usercopy.h"

void hm_store_day(int64_t end_ns, char day[11])
{
    char moment[HM_MOMENT];
    hm_text_copy(day, hm_moment_format(end_ns > 0 ? end_ns / 1000000000 : 0, moment), 11);
}

void hm_store_node(const char *node, char *out, size_t size)
{
    size_t used = 0;
    for (; node[used] && used + 1 < size; used++) {
        unsigned char c = (unsigned char)node[used];
        bool kept = (c < 0x80 && isalnum(c)) || c == '_' || c == '-' || (c == '.' && used > 0);
        out[used] = kept ? (char)c : '_';
    }
    out[used] = '\0';
    if (used == 0)
        snprintf(out, size, "node");
}

/*
 * Finds the group that may read all records; root's group if there is no such group. It is looked up once in a process,
 * as a directory service that hangs must not hold up each record. Where it is not known whether there is one, as the
 * look-up failed or took too long, this process appends no record: the day's folder, which all nodes share, would get
 * root's group. The records wait in pending/. Returns 0, or -1 (ETIMEDOUT).
 */
static int find_readers(const struct hm_config *config, gid_t *readers, struct hm_error *error)
{
    static gid_t found;
    static bool is_looked_up, is_unknown;
    static struct hm_error why;
    if (!is_looked_up && geteuid() == 0 && hm_lookup_group(config->record_group, &found, &why) != 0) {
        is_unknown = errno != ENOENT;
        found = 0;
    }
    is_looked_up = true;
    *readers = geteuid() == 0 ? found : getegid();
    return is_unknown ? hm_fail(error, ETIMEDOUT, "%s", why.text) : 0;
}

/* Has a crash left the folder as it was made? No user could pass it to their own records then. */
static bool is_half_made(int folder)
{
    struct stat status;
    return fstat(folder, &status) == 0 && (status.st_mode & 07777) == HM_FOLDER_NEW;
}

/*
 * Opens the record folder. Its mode 0751 lets users pass to their own folder below it, and to nothing else, as the
 * folders of the days are 0750. It is made if it is inside the state folder. Elsewhere it belongs to the site, and may
 * be on a file system that is not mounted at the moment.
 */
static int open_records(const struct hm_config *config, gid_t readers, struct hm_error *error)
{
    struct hm_error why = {{0}};
    size_t length = strlen(config->state_dir);
    int fd = hm_folder_open(AT_FDCWD, config->record_dir, NULL, &why);
    bool is_ours = strncmp(config->record_dir, config->state_dir, length) == 0 && config->record_dir[length] == '/';
    if (fd >= 0 && !(is_ours && is_half_made(fd)))
        return fd;
    if (fd >= 0)
        close(fd);
    else if (errno != ENOENT || !is_ours)
        return hm_fail(error, errno, "%s", why.text);
    const struct hm_rights state = {HM_FOLDER_PASS, geteuid(), getegid(), false},
                           records = {0751, geteuid(), readers, false};
    fd = hm_folder_open(AT_FDCWD, config->state_dir, &state, error);
    if (fd < 0)
        return -1;
    close(fd);
    return hm_folder_open(AT_FDCWD, config->record_dir, &records, error);
}

/* How many bytes at the line's beginning tell which record it is: all up to the value of its key "end"
 * (hm_record_build). 0: the line has no such key. A quote inside of a text is written as \", so no text can look like
 * the key. */
static size_t identity_of(const char *line)
{
    static const char key[] = ",\"end\":\"";
    const char *at = strstr(line, key);
    const char *last = at ? strchr(at + sizeof(key) - 1, '"') : NULL;
    return last ? (size_t)(last - line) + 1 : 0;
}

int hm_store_append(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                    struct hm_error *error)
{
    char day[11], node[HM_STORE_NODE], file[HM_STORE_NODE + 8];
    int in_day = -1, result = -1;
    gid_t readers;
    const size_t n_same = key->way != HM_STORE_AT_ONCE ? identity_of(line) : 0;
    if (find_readers(config, &readers, error) != 0)
        return -1;
    hm_store_day(key->end_ns, day);
    hm_store_node(key->node, node, sizeof(node));
    snprintf(file, sizeof(file), "%s.jsonl", node);
    int records = open_records(config, readers, error);
    if (records < 0)
        return -1;
    const struct hm_rights folder = {0750, geteuid(), readers, false}, rights = {0640, geteuid(), readers, false};
    in_day = hm_folder_open(records, day, &folder, error);
    if (in_day < 0 || hm_line_append(in_day, file, &rights, line, n_same, error) != 0)
        goto done;
    /* If the copy fails, only the error's text says so: the record itself is stored. */
    hm_usercopy_append(records, key, day, file, line, n_same, error);
    result = 0;
done:
    if (in_day >= 0)
        close(in_day);
    close(records);
    return result;
}
