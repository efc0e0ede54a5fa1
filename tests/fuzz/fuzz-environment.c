/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes LD_PRELOAD in the environment of a task: a user's own words stay, in their order, and our libraries are there
 * as often as they should be.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/installed.h"
#include "job/step/isolate.h"

#define VALUE 16384
#define SEPARATORS ": "

static const char *const names[] = {"LD_PRELOAD", HM_ISOLATE_JOB, HM_ISOLATE_NODES, HM_ISOLATE_GUIDE, HM_ISOLATE_SITES};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
static struct variable {
    bool is_set;
    char value[2 * VALUE];
} variables[N_NAMES];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct variable *find(const char *name)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (strcmp(names[i], name) == 0)
            return &variables[i];
    abort();
}

static int get(void *data, const char *name, char *out, size_t size)
{
    const struct variable *variable = find(name);
    (void)data;
    errno = variable->is_set ? ENAMETOOLONG : ENOENT;
    if (!variable->is_set || strlen(variable->value) >= size)
        return -1;
    hm_text_copy(out, variable->value, size);
    return 0;
}

static int set(void *data, const char *name, const char *value)
{
    struct variable *variable = find(name);
    (void)data;
    variable->is_set = true;
    hm_text_copy(variable->value, value, sizeof(variable->value));
    return 0;
}

static int unset(void *data, const char *name)
{
    (void)data;
    find(name)->is_set = false;
    return 0;
}

/* The next word, from *at on. Returns its length, 0 at the end. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, SEPARATORS);
    return strcspn(*at, SEPARATORS);
}

static bool is_library(const char *word, size_t length)
{
    const char *const libraries[] = {hm_preload_library(), hm_guide_library(), hm_sites_library()};
    for (size_t i = 0; i < 3; i++)
        if (length == strlen(libraries[i]) && strncmp(word, libraries[i], length) == 0)
            return true;
    return false;
}

/* Does LD_PRELOAD now have the words of `before`, with libraries of ours exactly `libraries` times? */
static bool has_words(const char *before, unsigned libraries)
{
    const char *now = variables[0].is_set ? variables[0].value : "";
    for (;;) {
        size_t length = next_word(&now), wanted = next_word(&before);
        for (; is_library(now, length); now += length, length = next_word(&now))
            if (libraries-- == 0)
                return false;
        for (; is_library(before, wanted); before += wanted, wanted = next_word(&before))
            ;
        if (length != wanted || strncmp(now, before, length) != 0)
            return false;
        if (length == 0)
            return libraries == 0;
        now += length;
        before += length;
    }
}

/* Copies the text, with a library of ours for each "*" and "+". Returns how many words are one. */
static unsigned expand(const char *text, char value[VALUE])
{
    unsigned count = 0;
    size_t used = 0, length;
    for (; *text && used + strlen(hm_preload_library()) < VALUE - 1; text++) {
        const char *library = *text == '*' ? hm_preload_library() : *text == '+' ? hm_guide_library() : NULL;
        used += (size_t)snprintf(value + used, VALUE - used, "%.*s", library ? 4096 : 1, library ? library : text);
    }
    value[used] = '\0';
    for (const char *at = value; (length = next_word(&at)) > 0; at += length)
        count += is_library(at, length);
    return count;
}

static const struct hm_environment environment = {get, set, unset, NULL, NULL};

static void leave(const char *before, unsigned libraries)
{
    if (hm_isolate_leave(&environment, NULL) != 0 || !has_words(before, libraries))
        abort();
}

/* The library of the mode is the first word; when the task has left the mode, nothing of it is there. */
static void check_entered(int status, const char *before)
{
    if (status != 0 || !has_words(before, 1) ||
        !is_library(variables[0].value, strcspn(variables[0].value, SEPARATORS)))
        abort();
    leave(before, 0);
    for (size_t i = 1; i < N_NAMES; i++)
        if (variables[i].is_set)
            abort();
}

static void check_preload(const char *text, bool is_marked)
{
    static struct hm_topology topology = {.n_nodes = 2, .node = {{.id = 0}, {.id = 1}}};
    static struct hm_plan plan;
    static char before[VALUE];
    unsigned libraries = expand(text, before);
    set(NULL, names[0], before);
    variables[1].is_set = variables[2].is_set = variables[3].is_set = is_marked;
    leave(before, is_marked ? 0 : libraries);
    if (!is_marked && strcmp(variables[0].value, before) != 0)
        abort();
    hm_set_add(&plan.migration.fast_nodes, 0);
    hm_set_add(&plan.migration.slow_nodes, 1);
    set(NULL, names[0], before);
    check_entered(hm_isolate_enter(&environment, &plan, &topology, 7, NULL), before);
    set(NULL, names[0], before);
    check_entered(hm_isolate_enter_guided(&environment, "fast=0 slow=1 sites=", 7, NULL), before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = calloc(1, size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    check_preload(text, data[0] % 2 == 0);
    free(text);
    return 0;
}
