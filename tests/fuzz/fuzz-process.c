/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the names that a user can give to a process, a mapping, a file and a cgroup: whatever they are, what the
 * kernel writes around them in /proc/PID/stat, status, maps and cgroup is read as it is. (fuzz-maps.c has texts of any
 * form.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"

#define NAME 64   /* bytes of a name and its NUL; the kernel shows 63 at most of a process's name */
#define MOST 1024 /* bytes of a text */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In /proc/PID/stat the kernel writes the process's name as it is. */
static void check_stat(const char *name)
{
    char text[MOST], state = 0;
    uint64_t start = 0;
    snprintf(text, sizeof(text),
             "7 (%s) S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 4711 8192 2 18446744073709551615\n", name);
    if (hm_process_parse_stat(text, &state, &start) != 0 || state != 'S' || start != 4711)
        abort();
}

/* In the other files no name has a line feed: the kernel writes an escape, or allows none. */
static void check_status(const char *name)
{
    char text[MOST];
    snprintf(text, sizeof(text), "Name:\t%s\nUmask:\t0022\nState:\tS\nUid:\t1000\t1000\t1000\t1000\nGid:\t7\t7\t7\t7\n",
             name);
    if (!hm_ranks_is_user(text, 1000) || hm_ranks_is_user(text, 7))
        abort();
    snprintf(text, sizeof(text), "Name:\t%s\nUmask:\t0022\nUid:\t1000\t0\t1000\t1000\n", name);
    if (hm_ranks_is_user(text, 1000) || hm_ranks_is_user(text, 0))
        abort();
}

static void check_cgroup(const char *name)
{
    char text[MOST];
    snprintf(text, sizeof(text), "1:name=%s:/%s\n0::/a/job_7/%s\n", name, name, name);
    if (!hm_ranks_is_inside(text, "/a/job_7") || hm_ranks_is_inside(text, "/a/job_8") || hm_ranks_is_inside(text, "/b"))
        abort();
}

static void check_maps(const char *name)
{
    struct hm_mapping mapping;
    char line[MOST];
    snprintf(line, sizeof(line), "1000-3000 rw-p 00000000 08:01 77      /%s\n", name);
    if (hm_maps_parse_line(line, &mapping) != 0 || mapping.kind != HM_MEMORY_FILE || mapping.is_shared)
        abort();
    snprintf(line, sizeof(line), "1000-3000 rw-s 00000000 00:01 77      /memfd:%s\n", name);
    if (hm_maps_parse_line(line, &mapping) != 0 || mapping.kind != HM_MEMORY_FILE || !mapping.is_shared)
        abort();
    snprintf(line, sizeof(line), "1000-3000 rw-p 00000000 00:00 0       [anon:%s]\n", name);
    if (hm_maps_parse_line(line, &mapping) != 0 || mapping.kind != HM_MEMORY_PRIVATE || mapping.range.first != 1 ||
        mapping.range.n_pages != 2)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[NAME] = "";
    memcpy(name, data, size < NAME ? size : NAME - 1);
    check_stat(name);
    for (char *feed; (feed = strchr(name, '\n'));)
        *feed = '?';
    check_status(name);
    check_cgroup(name);
    check_maps(name);
    return 0;
}
