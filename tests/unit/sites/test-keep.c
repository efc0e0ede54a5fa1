/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how recorders of many tasks put their profiles together in the store. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sites/commands/commands.h"
#include "sites/commands/keep.h"
#include "unit/lib/scratch.h"

#define TASKS 12

static char folder[PATH_MAX], path[PATH_MAX];
static int fails_to_write; /* errno; 0: it does not */
static bool is_alone;      /* no other process takes the lock */
static unsigned n_read, n_written;

uid_t __wrap_geteuid(void);
struct hm_profile *__real_hm_profile_read(const char *name, struct hm_error *error);
struct hm_profile *__wrap_hm_profile_read(const char *name, struct hm_error *error);
int __real_hm_sites_put(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error);
int __wrap_hm_sites_put(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error);

/* Root keeps no profiles. */
uid_t __wrap_geteuid(void)
{
    return 4711;
}

static void assert_nobody_is_held_up(void)
{
    char name[PATH_MAX + 8];
    if (!is_alone)
        return;
    snprintf(name, sizeof(name), "%s/.lock", folder);
    int lock = open(name, O_RDWR);
    assert_true(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0);
    close(lock);
}

struct hm_profile *__wrap_hm_profile_read(const char *name, struct hm_error *error)
{
    n_read++;
    assert_nobody_is_held_up();
    return __real_hm_profile_read(name, error);
}

int __wrap_hm_sites_put(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error)
{
    n_written++;
    assert_nobody_is_held_up();
    if (fails_to_write == 0)
        return __real_hm_sites_put(profile, file, error);
    return hm_fail(error, fails_to_write, "%s: no room", file->path);
}

static int set_up(void **state)
{
    (void)state;
    fails_to_write = 0;
    if (setenv("XDG_DATA_HOME", scratch, 1) != 0)
        return -1;
    snprintf(folder, sizeof(folder), "%s/hybridmem/profiles/aa", scratch);
    return hm_sites_can_keep("aa", "7.0", path, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return scratch_remove(scratch_path("hybridmem"));
}

static struct hm_profile *profile_of(const char *source, unsigned processes)
{
    char text[1024];
    int length =
        snprintf(text, sizeof(text),
                 "{\"schema\": 1, \"program\": {\"command\": \"app\", \"path\": \"/app\", \"build_id\": \"aa\", "
                 "\"input_class\": null}, \"start\": \"2026-01-01T00:00:00Z\", \"elapsed_s\": 1, "
                 "\"exit_code\": null, \"least_bytes\": 4096, \"processes\": %u, \"peak_bytes\": 4096, "
                 "\"left_out\": 0, \"sampling\": {\"source\": \"%s\", \"why\": null, \"unit\": null, "
                 "\"samples\": 0, \"elsewhere\": 0, \"lost\": 0}, \"objects\": [], \"sites\": []}",
                 processes, source);
    struct hm_profile *profile = hm_profile_parse("text", text, (size_t)length, NULL);
    assert_non_null(profile);
    return profile;
}

static int keep(const char *source, unsigned processes, struct hm_error *error)
{
    struct hm_profile *profile = profile_of(source, processes);
    int status = hm_sites_keep(profile, "aa", "7.0", error);
    hm_profile_free(profile);
    return status;
}

/* The processes of the profile that is kept, where nothing else is in the folder but the lock. */
static uint64_t kept(void)
{
    struct hm_error error = {""};
    struct hm_profile *profile = __real_hm_profile_read(path, &error);
    DIR *files = opendir(folder);
    unsigned n = 0;
    while (readdir(files))
        n++;
    closedir(files);
    assert_string_equal(error.text, "");
    assert_int_equal(n, 4); /* with "." and ".." */
    uint64_t processes = profile->processes;
    hm_profile_free(profile);
    return processes;
}

static void test_tasks_that_end_at_once_have_one_profile(void **state)
{
    int failed = 0;
    (void)state;
    for (int i = 0; i < TASKS; i++)
        if (fork() == 0)
            _exit(keep("clock", 1, NULL) != 0);
    for (int i = 0, status; i < TASKS; i++)
        failed += wait(&status) < 0 || status != 0;
    assert_int_equal(failed, 0);
    assert_int_equal(kept(), TASKS);
}

/* Both look at the lock. */
static void test_nobody_waits_while_profiles_are_read_and_written(void **state)
{
    (void)state;
    n_read = n_written = 0;
    is_alone = true;
    assert_int_equal(keep("clock", 1, NULL), 0);
    assert_int_equal(keep("clock", 2, NULL), 0);
    assert_int_equal(n_read, 1);
    assert_int_equal(n_written, 2);
    is_alone = false;
    assert_int_equal(kept(), 3);
}

static void test_of_two_that_cannot_be_summed_the_one_of_more_processes_stays(void **state)
{
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(keep("clock", 3, NULL), 0);
    assert_int_equal(keep("perf", 2, &error), -1);
    assert_non_null(strstr(error.text, "7.0.json has samples by clock, and those before it by perf"));
    assert_int_equal(kept(), 3);
    assert_int_equal(keep("perf", 4, &error), -1);
    assert_int_equal(kept(), 4);
}

static void test_where_the_sum_finds_no_room_what_was_there_stays(void **state)
{
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(keep("clock", 3, NULL), 0);
    fails_to_write = EDQUOT;
    assert_int_equal(keep("clock", 2, &error), -1);
    assert_non_null(strstr(error.text, "7.0.json: no room"));
    assert_int_equal(kept(), 3);
}

static void test_what_is_no_profile_is_put_aside(void **state)
{
    struct hm_error error = {""};
    (void)state;
    scratch_write(path, "{");
    assert_int_equal(keep("clock", 1, &error), -1);
    char *aside = strndup(error.text, strlen(path) + strlen(".XXXXXX"));
    assert_int_equal(remove(aside), 0);
    free(aside);
    assert_int_equal(kept(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tasks_that_end_at_once_have_one_profile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_waits_while_profiles_are_read_and_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_of_two_that_cannot_be_summed_the_one_of_more_processes_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_where_the_sum_finds_no_room_what_was_there_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_profile_is_put_aside, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
