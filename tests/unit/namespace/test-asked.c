/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the note of what was asked for, in a folder of the test's own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bootid.h"
#include "namespace/pmem/asked.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_config config;

static char *note(void)
{
    return scratch_path("state/memmode");
}

static int begin(void **state)
{
    int result = scratch_make(state);
    snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", scratch);
    return result;
}

static void is_kept_until_it_is_removed(void **state)
{
    (void)state;
    struct hm_asked asked;
    struct hm_error error = {{0}};
    struct stat status;
    char boot[40];
    assert_int_equal(hm_asked_read(&config, &asked, &error), 0);
    assert_int_equal(access(config.state_dir, F_OK), -1); /* reading does not make the folder */
    assert_int_equal(hm_asked_remove(&config, &error), 0);
    for (int i = 0; i < 2; i++) {
        const char *mode = i == 0 ? "cache" : "flat";
        scratch_write(scratch_path("state/.memmode"), "what a crash has left");
        assert_int_equal(hm_asked_write(&config, mode, i == 0, &error), 0);
        assert_int_equal(hm_asked_read(&config, &asked, &error), 1);
        assert_string_equal(asked.mode, mode);
        assert_int_equal(asked.is_unsure, i == 0);
        assert_string_equal(asked.boot_id, hm_boot_id(boot, sizeof(boot)));
    }
    assert_int_equal(stat(note(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(hm_asked_remove(&config, &error), 0);
    assert_int_equal(hm_asked_read(&config, &asked, &error), 0);
    assert_string_equal(error.text, "");
}

static void is_believed_in_its_own_form_only(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"", "memmode: "},
        {"hybridmem memmode 1\nmode cache\nboot_id b\n", "it is torn"},
        {"hybridmem memmode 1\nmode none\nboot_id b\nend\n", "mode"},
        {"hybridmem memmode 1\nmode other\nboot_id b\nend\n", "mode"},
        {"hybridmem memmode 1\nmode cache\nend\n", "boot_id"},
        {"hybridmem memmode 1\nboot_id b\nend\n", "mode"},
        {"hybridmem job 1\nmode cache\nboot_id b\nend\n", "its version is not one"},
    };
    struct hm_asked asked;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        scratch_write(note(), rows[i].text);
        int result = hm_asked_read(&config, &asked, &error);
        if (result != -1 || !strstr(error.text, rows[i].said) || !strstr(error.text, "state/memmode: "))
            fail_msg("row %zu: %d, \"%s\"", i, result, error.text);
    }
}

static void is_believed_from_root_only(void **state)
{
    (void)state;
    struct hm_asked asked;
    struct hm_error error = {{0}};
    assert_int_equal(hm_asked_write(&config, "flat", false, &error), 0);
    assert_int_equal(chmod(note(), 0622), 0);
    assert_int_equal(hm_asked_read(&config, &asked, &error), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(unlink(note()), 0);
    scratch_write(scratch_path("elsewhere"), "hybridmem memmode 1\nmode cache\nboot_id b\nend\n");
    assert_int_equal(symlink("../elsewhere", note()), 0);
    assert_int_equal(hm_asked_read(&config, &asked, &error), -1);
    assert_int_equal(chmod(config.state_dir, 0777), 0);
    error.text[0] = '\0';
    assert_int_equal(hm_asked_write(&config, "flat", false, &error), -1);
    assert_non_null(strstr(error.text, "writable by nobody else"));
    assert_int_equal(chmod(config.state_dir, 0711), 0);
}

/* What was asked for in an earlier boot has come or has not: the check answers that. */
static void forbids_namespaces_until_the_boot(void **state)
{
    (void)state;
    static const struct {
        const char *note; /* NULL: none */
        bool is_unsure;
        const char *said; /* a part of the refusal; NULL: there is none */
    } rows[] = {
        {NULL, false, NULL},
        {"cache", false, "this node was asked for memmode=cache, and its next boot ends all namespaces"},
        {"flat", true, "its next boot may end all namespaces"},
        {"hybridmem memmode 1\nmode cache\nboot_id an-earlier-one\nend\n", false, NULL},
        {"torn", false, "state/memmode: "},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        assert_int_equal(hm_asked_remove(&config, &error), 0);
        if (rows[i].note && strlen(rows[i].note) <= 5 && rows[i].note[0] != 't')
            assert_int_equal(hm_asked_write(&config, rows[i].note, rows[i].is_unsure, &error), 0);
        else if (rows[i].note)
            scratch_write(note(), rows[i].note);
        int result = hm_asked_allows(&config, &error);
        if (result != (rows[i].said ? -1 : 0) || (rows[i].said && !strstr(error.text, rows[i].said)))
            fail_msg("row %zu: %d, \"%s\"", i, result, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_kept_until_it_is_removed), cmocka_unit_test(is_believed_in_its_own_form_only),
        cmocka_unit_test(is_believed_from_root_only), cmocka_unit_test(forbids_namespaces_until_the_boot)};
    return cmocka_run_group_tests(tests, begin, scratch_drop);
}
