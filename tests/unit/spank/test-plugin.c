/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the plugin as Slurm loads it: its messages about arguments in the plugstack line, none of which makes it fail.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "spank/plugin.h"
#include "unit/lib/scratch.h"

static spank_context_t context;
static char said[1024];
static int (*init)(spank_t spank, int count, char **words);

/* Slurm's functions, which the plugin finds in the program that loads it. */
#pragma GCC visibility push(default)

spank_context_t spank_context(void)
{
    return context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    (void)spank, (void)option;
    return ESPANK_SUCCESS;
}

/* No test calls these, but the plugin is linked as a whole. */
spank_err_t spank_option_getopt(spank_t spank, struct spank_option *option, char **text)
{
    (void)spank, (void)option, (void)text;
    return ESPANK_NOT_AVAIL;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    (void)spank, (void)item;
    return ESPANK_NOT_AVAIL;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *out, int size)
{
    (void)spank, (void)name, (void)out, (void)size;
    return ESPANK_NOT_AVAIL;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank, (void)name, (void)value, (void)overwrite;
    return ESPANK_NOT_TASK;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank, (void)name;
    return ESPANK_NOT_TASK;
}

void slurm_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
}

void slurm_info(const char *format, ...)
{
    (void)format;
}

#pragma GCC visibility pop

static int load(void **state)
{
    void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fail_msg("%s", dlerror());
    *(void **)&init = dlsym(plugin, "slurm_spank_init");
    assert_non_null(init);
    return scratch_make(state);
}

/* Returns what the plugin says of an argument, in any of Slurm's contexts; it must never fail. */
static const char *load_with(char *word)
{
    said[0] = '\0';
    assert_int_equal(init(NULL, 1, &word), 0);
    return said;
}

static void what_is_wrong_in_the_plugstack_line_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *word, *then;
    } rows[] = {
        {"config=relative.conf", "\"config=relative.conf\": the path must be absolute"},
        {"config=", "\"config=\": the path must be absolute"},
        {"colour=blue", "\"colour=blue\" is not known"},
    };
    for (context = S_CTX_LOCAL; context <= S_CTX_JOB_SCRIPT; context++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            char word[64];
            snprintf(word, sizeof(word), "%s", rows[i].word);
            assert_non_null(strstr(load_with(word), rows[i].then));
        }
}

static void a_configuration_that_is_named_must_be_there(void **state)
{
    (void)state;
    char word[256];
    snprintf(word, sizeof(word), "config=%s", scratch_path("other.conf"));
    for (context = S_CTX_LOCAL; context <= S_CTX_JOB_SCRIPT; context++) {
        unlink(word + strlen("config="));
        assert_non_null(strstr(load_with(word), word));
        assert_non_null(strstr(said, "there is no such file: the built-in values hold"));
        scratch_write(word + strlen("config="), "");
        assert_string_equal(load_with(word), "");
    }
}

/* Without a configuration file the built-in values are used, and nothing is reported. */
static void the_built_in_path_need_not_be_there(void **state)
{
    (void)state;
    said[0] = '\0';
    context = S_CTX_REMOTE;
    assert_int_equal(init(NULL, 0, NULL), 0);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_in_the_plugstack_line_is_named),
        cmocka_unit_test(a_configuration_that_is_named_must_be_there),
        cmocka_unit_test(the_built_in_path_need_not_be_there),
    };
    return cmocka_run_group_tests(tests, load, scratch_drop);
}
