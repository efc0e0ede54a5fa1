/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how scontrol's answer about Slurm's configuration is read, and how its failures are reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "slurm/scontrol.h"
#include "unit/lib/scratch.h"

static struct hm_error error;

static void test_values(void **state)
{
    (void)state;
    static const char text[] = "Configuration data as of now\n"
                               "EpilogSlurmctld[0]      = /a\n"
                               "EpilogSlurmctld[1]      = /b c\n"
                               "SLURM_VERSION           = 24.11.5\n"
                               "Empty                   = \n"
                               "NoSign\n"
                               "Last= x";
    static const struct {
        const char *name, *value;
        bool is_there;
    } rows[] = {
        {"SLURM_VERSION", "24.11.5", true},
        {"EpilogSlurmctld", "/a", true},
        {"Empty", "", true},
        {"NoSign", "", false},
        {"SLURM", "", false},
        {"None", "", false},
        {"Last", "x", true},
    };
    char value[16];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if ((hm_scontrol_value(text, rows[i].name, value, sizeof(value)) != NULL) != rows[i].is_there ||
            strcmp(value, rows[i].value) != 0)
            fail_msg("%s: \"%s\"", rows[i].name, value);
    }
    const char *at = hm_scontrol_value(text, "EpilogSlurmctld", value, sizeof(value));
    at = hm_scontrol_value(at, "EpilogSlurmctld", value, sizeof(value));
    assert_string_equal(value, "/b c");
    assert_null(hm_scontrol_value(at, "EpilogSlurmctld", value, sizeof(value)));
    char little[4];
    assert_non_null(hm_scontrol_value(text, "SLURM_VERSION", little, sizeof(little)));
    assert_string_equal(little, "24.");
}

static const char *write_script(const char *commands)
{
    const char *path = scratch_path("scontrol");
    char text[256] = "#!/bin/sh\n";
    strncat(text, commands, sizeof(text) - strlen(text) - 1);
    scratch_write(path, text);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void test_a_scontrol_that_answers_or_fails(void **state)
{
    (void)state;
    char text[64];
    setenv("SLURM_CONF", "/etc/here", 1);
    setenv("HM_SECRET", "x", 1);
    assert_int_equal(
        hm_scontrol_config(write_script("echo \"$* $SLURM_CONF $HM_SECRET.\""), text, sizeof(text), &error), 0);
    assert_string_equal(text, "show config /etc/here .\n");
    const char *path = write_script("echo no controller >&2; echo more; exit 3");
    assert_int_equal(hm_scontrol_config(path, text, sizeof(text), &error), -1);
    assert_int_equal(errno, EIO);
    assert_non_null(strstr(error.text, "/scontrol show config failed: no controller"));
    assert_int_equal(hm_scontrol_config(write_script("exit 1"), text, sizeof(text), &error), -1);
    assert_string_equal(error.text + strlen(path), " show config failed");
    assert_int_equal(hm_scontrol_config("/nonexistent/scontrol", text, sizeof(text), &error), -1);
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_a_scontrol_that_answers_or_fails),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
