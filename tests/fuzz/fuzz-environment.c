/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes LD_PRELOAD in the environment of a task: a user's own words stay, in their order, and our library is there as
 * often as it should be.
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

static const char *const names[] = {"LD_PRELOAD", HM_ISOLATE_JOB, HM_ISOLATE_NODES};
static struct variable {
    bool is_set;
    char value[2 * VALUE];
} variables[3];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct variable *find(const char *name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
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
    return length == strlen(hm_preload_library()) && strncmp(word, hm_preload_library(), length) == 0;
}

/* Does LD_PRELOAD now have the words of `before`, with our library exactly `libraries` times? */
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

/* Copies the text, with the library for each "*". Returns how many words are the library. */
static unsigned expand(const char *text, char value[VALUE])
{
    unsigned count = 0;
    size_t used = 0, length;
    for (; *text && used + strlen(hm_preload_library()) < VALUE - 1; text++)
        used += (size_t)snprintf(value + used, VALUE - used, "%.*s", *text == '*' ? 4096 : 1,
                                 *text == '*' ? hm_preload_library() : text);
    value[used] = '\0';
    for (const char *at = value; (length = next_word(&at)) > 0; at += length)
        count += is_library(at, length);
    return count;
}

static void check_preload(const char *text, bool is_marked)
{
    static const struct hm_environment environment = {get, set, unset, NULL, NULL};
    static struct hm_topology topology = {.n_nodes = 2, .node = {{.id = 0}, {.id = 1}}};
    static struct hm_plan plan;
    static char before[VALUE];
    unsigned libraries = expand(text, before);
    set(NULL, names[0], before);
    variables[1].is_set = variables[2].is_set = is_marked;
    if (hm_isolate_leave(&environment, NULL) != 0 || !has_words(before, is_marked ? 0 : libraries) ||
        (!is_marked && strcmp(variables[0].value, before) != 0))
        abort();
    hm_set_add(&plan.migration.fast_nodes, 0);
    hm_set_add(&plan.migration.slow_nodes, 1);
    set(NULL, names[0], before);
    if (hm_isolate_enter(&environment, &plan, &topology, 7, NULL) != 0 || !has_words(before, 1) ||
        !is_library(variables[0].value, strcspn(variables[0].value, SEPARATORS)))
        abort();
    if (hm_isolate_leave(&environment, NULL) != 0 || variables[1].is_set || variables[2].is_set ||
        !has_words(before, 0))
        abort();
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
