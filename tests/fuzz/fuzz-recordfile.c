/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the contents of files in the folders of records; the first byte chooses: a day's file to which a record is
 * appended, or a record that waits. Nothing that was there is lost. What waits is appended as a whole, or stays there.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/lookup.h"
#include "job/store/append.h"
#include "job/store/store.h"

#define MOST 8192
#define WAITS "1740823200000000000_7_0_0_n1.json"
#define DAY "2025-03-01"

static char scratch[] = "/dev/shm/hm-fuzz.XXXXXX"; /* in memory, where fsync costs nothing */
static struct hm_config config;
static int pending, day; /* the two folders */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Root asks for the group of the records' readers, by a program that is not installed here. */
int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error)
{
    (void)gid;
    return hm_fail(error, ENOENT, "there is no group %s", name);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static void remove_all(void)
{
    nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Makes the folder `name` below `scratch`, and opens it. */
static int make(const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    return mkdir(path, 0750) == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void set_up(void)
{
    if (!mkdtemp(scratch) || make("state") < 0 || make("records") < 0 || (pending = make("state/pending")) < 0 ||
        (day = make("records/" DAY)) < 0 || atexit(remove_all) != 0)
        abort();
    hm_config_defaults(&config);
    snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", scratch);
    snprintf(config.record_dir, sizeof(config.record_dir), "%s/records", scratch);
    snprintf(config.run_dir, sizeof(config.run_dir), "%s/run", scratch);
}

static void put(int folder, const char *name, const void *content, size_t size)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, content, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

/* Reads the file, and removes it. Returns its size, or -1 where there is none, or one of the two fails. */
static ssize_t take(int folder, const char *name, char content[MOST])
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t size = read(fd, content, MOST);
    close(fd);
    return unlinkat(folder, name, 0) == 0 ? size : -1;
}

/* What a day's file has stays, and the record is a line of its own after it. */
static void check_append(const char *content, size_t size)
{
    static char wanted[MOST], found[MOST];
    const struct hm_rights rights = {0640, geteuid(), getegid(), false};
    size_t used = size;
    memcpy(wanted, content, size);
    if (size > 0 && content[size - 1] != '\n')
        wanted[used++] = '\n';
    memcpy(wanted + used, "{}\n", 3);
    used += 3;
    put(day, "n1.jsonl", content, size);
    if (hm_line_append(day, "n1.jsonl", &rights, "{}", 0, NULL) != 0 || take(day, "n1.jsonl", found) != (ssize_t)used ||
        memcmp(found, wanted, used) != 0)
        abort();
}

static void drop(const char *line)
{
    (void)line;
}

/* The record is appended as it is, or set aside as it is. */
static void check_retry(const char *content, size_t size)
{
    static char found[MOST];
    bool is_line = size > 1 && memchr(content, '\n', size) == content + size - 1 && !memchr(content, '\0', size);
    put(pending, WAITS, content, size);
    if (hm_store_retry(&config, drop, NULL) != (is_line ? 1 : 0) ||
        take(is_line ? day : pending, is_line ? "n1.jsonl" : WAITS ".broken", found) != (ssize_t)size ||
        memcmp(found, content, size) != 0 || take(pending, WAITS, found) >= 0 ||
        (!is_line && take(day, "n1.jsonl", found) >= 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (day == 0)
        set_up();
    if (size == 0 || size > MOST / 2)
        return 0;
    char *text = calloc(1, size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    if (data[0] % 2 == 0)
        check_append(text, size - 1);
    else
        check_retry(text, size - 1);
    free(text);
    return 0;
}
