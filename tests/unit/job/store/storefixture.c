/* SPDX-License-Identifier: Apache-2.0 */
#include "storefixture.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/lookup.h"
#include "unit/lib/scratch.h"

struct hm_config config;
struct hm_store_key key;

/*
 * Replaces the look-up of the group of the records' readers. Where the test runs as root, the store looks that group
 * up, by a program that may not be installed yet.
 */
int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error)
{
    (void)gid;
    return hm_fail(error, ENOENT, "there is no group %s", name);
}

int n_told;
char told[512];

void note_told(const char *line)
{
    n_told++;
    snprintf(told, sizeof(told), "%s", line);
}

char *path_of(const char *name)
{
    return scratch_path("site/%s", name);
}

int store_set_up(void **state)
{
    (void)state;
    umask(022);
    n_told = 0;
    if (mkdir(path_of(""), 0755) != 0)
        return -1;
    hm_config_defaults(&config);
    snprintf(config.state_dir, sizeof(config.state_dir), "%s", path_of("state"));
    snprintf(config.record_dir, sizeof(config.record_dir), "%s", path_of("records"));
    snprintf(config.run_dir, sizeof(config.run_dir), "%s", path_of("run"));
    uid_t uid = geteuid() == 0 ? 12345 : geteuid();
    gid_t gid = geteuid() == 0 ? 12346 : getegid();
    key = (struct hm_store_key){.node = "n1", .job_id = 42, .uid = uid, .gid = gid, .end_ns = END};
    return mkdir(config.record_dir, 0751) || mkdir(config.state_dir, 0755);
}

int store_tear_down(void **state)
{
    (void)state;
    return scratch_remove(path_of(""));
}

void assert_mode(const char *name, mode_t mode, uid_t uid)
{
    struct stat status;
    if (lstat(path_of(name), &status) != 0)
        fail_msg("%s is not there", name);
    if ((status.st_mode & 07777) != mode || status.st_uid != uid)
        fail_msg("%s has the mode %04o and user %u", name, status.st_mode & 07777u, status.st_uid);
}

void assert_text(const char *name, const char *wanted)
{
    char text[4096] = "";
    FILE *file = fopen(path_of(name), "r");
    if (!file)
        fail_msg("%s is not there", name);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, wanted);
}

int count_in(const char *name)
{
    struct dirent **list;
    int n = scandir(path_of(name), &list, NULL, NULL), kept = 0;
    for (int i = 0; i < n; i++) {
        kept += list[i]->d_name[0] != '.';
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return kept;
}

void put_file(const char *name, const char *text)
{
    scratch_write(path_of(name), text);
}
