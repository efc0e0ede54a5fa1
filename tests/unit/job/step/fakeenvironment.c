/* SPDX-License-Identifier: Apache-2.0 */
#include "fakeenvironment.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define VARIABLES 8

static struct {
    char name[64], value[70000];
} variables[VARIABLES];
static bool is_full;

static int find(const char *name)
{
    for (int i = 0; i < VARIABLES; i++)
        if (strcmp(variables[i].name, name) == 0)
            return i;
    return -1;
}

static int get(void *data, const char *name, char *out, size_t size)
{
    int at = find(name);
    (void)data;
    errno = at < 0 ? ENOENT : ENAMETOOLONG;
    if (at < 0 || strlen(variables[at].value) >= size)
        return -1;
    snprintf(out, size, "%s", variables[at].value);
    return 0;
}

static int set(void *data, const char *name, const char *value)
{
    int at = find(name);
    (void)data;
    at = at < 0 ? find("") : at;
    if (is_full || at < 0) {
        errno = ENOMEM;
        return -1;
    }
    snprintf(variables[at].name, sizeof(variables[at].name), "%s", name);
    snprintf(variables[at].value, sizeof(variables[at].value), "%s", value);
    return 0;
}

static int unset(void *data, const char *name)
{
    int at = find(name);
    (void)data;
    if (at >= 0)
        variables[at].name[0] = '\0';
    return 0;
}

const struct hm_environment *fake_environment(void)
{
    static const struct hm_environment environment = {get, set, unset, NULL, NULL};
    return &environment;
}

void fake_environment_clear(void)
{
    is_full = false;
    memset(variables, 0, sizeof(variables));
}

void fake_environment_put(const char *name, const char *value)
{
    assert_int_equal(set(NULL, name, value), 0);
}

const char *fake_environment_get(const char *name)
{
    int at = find(name);
    return at < 0 ? NULL : variables[at].value;
}

void fake_environment_fill(void)
{
    is_full = true;
}
