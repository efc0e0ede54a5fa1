/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/follow.h"
#include "base/spawn.h"
#include "cli/trace/program.h"

#define BATCH 128         /* frames that are asked for at a time */
#define WORD 20           /* bytes of an address */
#define PATIENCE_MS 20000 /* large debug information takes seconds */
#define FUNCTION 40       /* most bytes of a function's name */

/* What is being asked for. hm_spawn_follow hands on lines alone, so this is static. */
static struct {
    struct hm_sites_name *name;
    size_t left;
    bool has_function; /* the next line is that of the place */
    char function[FUNCTION + 1];
} asked;

/* For each address there are two lines: the function, and its file and line. What is not known has "??". */
static int take_line(const char *line)
{
    if (asked.left == 0)
        return 0;
    if (!asked.has_function) {
        snprintf(asked.function, sizeof(asked.function), "%.*s", FUNCTION, line);
        asked.has_function = true;
        return 0;
    }
    const char *slash = strrchr(line, '/'), *place = slash ? slash + 1 : line;
    size_t length = strcspn(place, " ");
    bool is_known = strncmp(line, "??", 2) != 0 && length < FUNCTION;
    char *text = NULL;
    if (strncmp(asked.function, "??", 2) != 0 &&
        asprintf(&text, is_known ? "%s (%.*s)" : "%s", asked.function, (int)length, place) > 0)
        asked.name->text = text;
    asked.name++;
    asked.left--;
    asked.has_function = false;
    return 0;
}

/* Asks for at most BATCH frames of one object. Returns whether the program could be asked. */
static bool ask(const char *program, const char *object, struct hm_sites_name *name, size_t n)
{
    static char function[] = "-f", demangle[] = "-C", executable[] = "-e", locale[] = "LC_ALL=C";
    char path[PATH_MAX], self[PATH_MAX], words[BATCH][WORD];
    char *arguments[BATCH + 6] = {self, function, demangle, executable, path}, *environment[] = {locale, NULL};
    int ends[2];
    snprintf(self, sizeof(self), "%s", program);
    snprintf(path, sizeof(path), "%s", object);
    for (size_t i = 0; i < n; i++) {
        /* a return address is behind the call, and may be that of the next line */
        snprintf(words[i], WORD, "0x%" PRIx64, name[i].frame.offset - 1);
        arguments[5 + i] = words[i];
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const struct hm_spawn spawn = {.path = program,
                                   .arguments = arguments,
                                   .environment = environment,
                                   .extra = -1,
                                   .output = ends[1],
                                   .errors = -1,
                                   .dies_with_parent = true};
    pid_t pid = hm_spawn_start(&spawn, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    asked.name = name;
    asked.left = n;
    asked.has_function = false;
    return hm_spawn_follow(pid, ends[0], PATIENCE_MS, take_line) == 0;
}

/* The frames of all sites, in order and each once. */
static struct hm_sites_names list(const struct hm_profile *profile)
{
    struct hm_sites_names names = {0, calloc(profile->n_sites * HM_SITES_NAMED + 1, sizeof(*names.name))};
    size_t n = 0;
    for (size_t i = 0; names.name && i < profile->n_sites; i++)
        for (int f = 0; f < profile->site[i].n_frames && f < HM_SITES_NAMED; f++)
            if (profile->site[i].frame[f].object >= 0)
                names.name[n++].frame = profile->site[i].frame[f];
    if (n > 0)
        qsort(names.name, n, sizeof(*names.name), hm_sites_name_compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || hm_sites_name_compare(&names.name[names.n - 1], &names.name[i]) != 0)
            names.name[names.n++] = names.name[i];
    return names;
}

struct hm_sites_names hm_sites_names_find(const struct hm_profile *profile)
{
    char program[PATH_MAX];
    struct hm_sites_names names = list(profile);
    if (hm_program_find("eu-addr2line", program, NULL) != 0 && hm_program_find("addr2line", program, NULL) != 0)
        return names;
    for (size_t first = 0, end; first < names.n; first = end) {
        int object = names.name[first].frame.object;
        for (end = first; end < names.n && names.name[end].frame.object == object;)
            end++;
        bool goes_on = hm_profile_is_there(&profile->object[object]);
        for (size_t at = first; at < end && goes_on; at += BATCH)
            goes_on = ask(program, profile->object[object].path, &names.name[at], hm_least(end - at, BATCH));
    }
    return names;
}

void hm_sites_names_free(struct hm_sites_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i].text);
    free(names->name);
    *names = (struct hm_sites_names){0, NULL};
}
