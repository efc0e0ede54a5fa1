/* SPDX-License-Identifier: Apache-2.0 */
/* Tests look-ups of users and groups: what is taken for an answer, and that a directory service that hangs holds nobody
 * up. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/lookup.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define PATIENCE_MS 60000 /* for programs that end by themselves */

static struct hm_error error;
static int group_failure; /* what getgrgid_r returns */

/* Writes a program that runs these shell commands in place of a look-up. Returns its path. */
static const char *program_that(const char *commands)
{
    const char *path = scratch_path("lookup");
    char text[256];
    snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", commands);
    scratch_write(path, text);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static int ask(const char *commands, int patience_ms, struct hm_identity *identity)
{
    error.text[0] = '\0';
    return hm_lookup_ask(program_that(commands), &(struct hm_question){"uid", "7"}, patience_ms, identity, &error);
}

static void test_whole_answers(void **state)
{
    (void)state;
    struct hm_identity identity;
    assert_int_equal(ask("printf '7 8 2 alice\\nphysics\\nall staff\\n'", PATIENCE_MS, &identity), 0);
    assert_int_equal(identity.uid, 7);
    assert_int_equal(identity.gid, 8);
    assert_string_equal(identity.name, "alice");
    assert_string_equal(identity.groups[0], "physics");
    assert_string_equal(identity.groups[1], "all staff");
    assert_null(identity.groups[2]);
    hm_identity_free(&identity);
    assert_int_equal(ask("test \"$*\" = 'lookup uid 7' && echo '0 9 0 '", PATIENCE_MS, &identity), 0);
    assert_int_equal(identity.gid, 9);
    assert_null(identity.groups[0]);
    hm_identity_free(&identity);
}

/* An answer that lacks some of the user's groups is an error: the rules for those groups could not forbid anything. */
static void test_no_answers(void **state)
{
    (void)state;
    static const struct {
        const char *commands;
        int number;
    } rows[] = {
        {"echo 'no user with uid 7'", ENOENT},
        {"exit 1", EIO},
        {"printf '7 8 2 alice\\na\\n'", EIO},
        {"printf '7 8 2 alice\\na\\nb'", EIO},
        {"printf '7 8 1 alice\\na\\nb\\n'", EIO},
        {"printf '7 8 4294967295 alice\\n'", EIO},
        {"printf '7 8 0 alice'", EIO},
        {"echo 7 8 alice", EIO},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_identity identity;
        if (ask(rows[i].commands, PATIENCE_MS, &identity) != -1 || errno != rows[i].number || !error.text[0])
            fail_msg("%s: %d, \"%s\"", rows[i].commands, errno, error.text);
    }
}

/* A look-up that cannot be run is EIO, not ENOENT, which means that there is no such user. */
static void test_no_program(void **state)
{
    (void)state;
    struct hm_identity identity;
    assert_int_equal(
        hm_lookup_ask("/nonexistent/hybridmem-job", &(struct hm_question){"uid", "7"}, PATIENCE_MS, &identity, &error),
        -1);
    assert_int_equal(errno, EIO);
    assert_non_null(strstr(error.text, "cannot execute /nonexistent/hybridmem-job"));
}

static void test_a_directory_service_that_hangs(void **state)
{
    (void)state;
    struct hm_identity identity;
    assert_int_equal(ask("echo '7 8 0 alice'; exec sleep 100000", 300, &identity), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_non_null(strstr(error.text, "does the directory service answer?"));
}

int __wrap_getgrgid_r(gid_t gid, struct group *group, char *buffer, size_t size, struct group **found);

/* Returns `group_failure` for each group. ENOENT means that the group has no name. */
int __wrap_getgrgid_r(gid_t gid, struct group *group, char *buffer, size_t size, struct group **found)
{
    (void)gid;
    (void)group;
    (void)buffer;
    (void)size;
    *found = NULL;
    return group_failure;
}

static void test_all_groups_or_none(void **state)
{
    (void)state;
    struct hm_identity identity;
    group_failure = ENOENT;
    assert_int_equal(hm_identity_of_uid(0, &identity, &error), 0);
    assert_null(identity.groups[0]);
    hm_identity_free(&identity);
    static const int numbers[] = {EIO, ERANGE, ETIMEDOUT};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        group_failure = numbers[i];
        assert_int_equal(hm_identity_of_uid(0, &identity, &error), -1);
        assert_int_equal(errno, numbers[i]);
    }
    group_failure = 0;
}

static char long_name[80];

int __real_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size, struct passwd **found);
int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size, struct passwd **found);

/* A directory service that has a user with `long_name`, if it is set. */
int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size, struct passwd **found)
{
    int number = __real_getpwuid_r(uid, user, buffer, size, found);
    if (*found && long_name[0])
        (*found)->pw_name = long_name;
    return number;
}

/* The C library knows no groups of a name that was cut. */
static void test_no_name_is_cut(void **state)
{
    (void)state;
    struct hm_identity identity;
    group_failure = ENOENT;
    memset(long_name, 'a', sizeof(identity.name) - 1);
    assert_int_equal(hm_identity_of_uid(0, &identity, &error), 0);
    assert_string_equal(identity.name, long_name);
    hm_identity_free(&identity);
    long_name[sizeof(identity.name) - 1] = 'a';
    assert_int_equal(hm_identity_of_uid(0, &identity, &error), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_string_equal(error.text, "the name of the user with uid 0 has more than 63 bytes");
    assert_int_equal(hm_lookup_answer(&(struct hm_question){"uid", "0"}), 0); /* an answer that says why */
    memset(long_name, 0, sizeof(long_name));
    group_failure = 0;
}

static void test_what_is_written(void **state)
{
    (void)state;
    assert_int_equal(hm_lookup_answer(&(struct hm_question){"uid", "0"}), 0);
    assert_int_equal(hm_lookup_answer(&(struct hm_question){"group", "root"}), 0);
    assert_int_equal(hm_lookup_answer(&(struct hm_question){"user", "no such"}), 0);
    assert_int_equal(hm_lookup_answer(&(struct hm_question){"uid", "-1"}), 1);
    assert_int_equal(hm_lookup_answer(&(struct hm_question){"colour", "red"}), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_answers),      cmocka_unit_test(test_no_answers),
        cmocka_unit_test(test_no_program),         cmocka_unit_test(test_a_directory_service_that_hangs),
        cmocka_unit_test(test_all_groups_or_none), cmocka_unit_test(test_no_name_is_cut),
        cmocka_unit_test(test_what_is_written),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
