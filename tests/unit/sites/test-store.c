/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the store of profiles. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sites/store/store.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static char own[PATH_MAX], found[PATH_MAX];

static int set_up(void **state)
{
    if (scratch_make(state) != 0 || setenv("XDG_DATA_HOME", scratch, 1) != 0)
        return -1;
    return hm_store_own(own, NULL);
}

/* Makes a file of this age, with the folders above it. */
static void put(const char *store, const char *build, const char *name, time_t changed)
{
    char path[PATH_MAX];
    assert_true(snprintf(path, sizeof(path), "%s/%s/", store, build) < PATH_MAX);
    for (char *at = path + strlen(scratch) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    assert_true(snprintf(path, sizeof(path), "%s/%s/%s", store, build, name) < PATH_MAX);
    scratch_write(path, "");
    const struct timespec times[] = {{.tv_sec = changed}, {.tv_sec = changed}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const char *find(const char *shared, const char *build)
{
    assert_int_equal(hm_store_find(shared, build, NULL, found, NULL), 0);
    return strrchr(found, '/') + 1;
}

static const char *database; /* the home that the user database has; NULL: no such user */

struct passwd *__wrap_getpwuid(uid_t uid);

struct passwd *__wrap_getpwuid(uid_t uid)
{
    static char home[64];
    static struct passwd entry = {.pw_dir = home};
    entry.pw_uid = uid;
    snprintf(home, sizeof(home), "%s", database ? database : "");
    return database ? &entry : NULL;
}

/* XDG_DATA_HOME, HOME, the database's home, and the store; NULL: there is none. */
static const char *const places[][4] = {
    {"/data", "/home/a", "/home/b", "/data/hybridmem/profiles"},
    {"", "/home/a", "/home/b", "/home/a/.local/share/hybridmem/profiles"},
    {"data", "/home/a", "/home/b", "/home/a/.local/share/hybridmem/profiles"},
    {"", "", "/home/b", "/home/b/.local/share/hybridmem/profiles"}, /* a step of srun --export=NONE */
    {"", "home", "/home/b", "/home/b/.local/share/hybridmem/profiles"},
    {"", "", "", NULL},
    {"", "", NULL, NULL},
};

static void test_where_the_store_is(void **state)
{
    char folder[PATH_MAX];
    (void)state;
    for (size_t i = 0; i < N_ROWS(places); i++) {
        setenv("XDG_DATA_HOME", places[i][0], 1);
        setenv("HOME", places[i][1], 1);
        database = places[i][2];
        assert_int_equal(hm_store_own(folder, NULL), places[i][3] ? 0 : -1);
        if (places[i][3])
            assert_string_equal(folder, places[i][3]);
    }
    setenv("XDG_DATA_HOME", scratch, 1);
}

static void test_the_newest_of_the_build_is_found(void **state)
{
    const char *shared = scratch_path("shared");
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_store_find(shared, "aa", NULL, found, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(error.text, "there is no profile of the build aa: "));
    assert_non_null(strstr(error.text, own));
    assert_non_null(strstr(error.text, shared));
    put(shared, "aa", "site.json", 900);
    assert_string_equal(find(shared, "aa"), "site.json");
    assert_int_equal(hm_store_find("", "aa", NULL, found, NULL), -1);
    put(own, "aa", "1.0.json", 100);
    put(own, "aa", "2.0.json", 300);
    put(own, "aa", "3.0.json", 200);
    put(own, "bb", "4.0.json", 400);
    put(own, "aa", ".lock", 500);
    put(own, "aa", "5.0.json.abcdef", 500); /* one that is being written */
    assert_string_equal(find(shared, "aa"), "2.0.json");
    assert_string_equal(find("", "bb"), "4.0.json");
}

static void test_all_are_listed(void **state)
{
    struct hm_store_entry *entries;
    static const char *const wanted[] = {"aa/2.0.json", "aa/3.0.json", "aa/1.0.json", "bb/4.0.json"};
    (void)state;
    assert_int_equal(hm_store_list(own, &entries, NULL), N_ROWS(wanted));
    for (size_t i = 0; i < N_ROWS(wanted); i++)
        assert_non_null(strstr(entries[i].path, wanted[i]));
    free(entries);
    assert_int_equal(hm_store_list("/none/of/it", &entries, NULL), 0);
    assert_null(entries);
}

static bool is_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    assert_true(snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX);
    return access(path, F_OK) == 0;
}

static void test_the_oldest_are_removed(void **state)
{
    char folder[PATH_MAX + 4], name[16];
    struct hm_store_entry *entries;
    (void)state;
    for (int i = 0; i < HM_STORE_KEPT; i++) {
        snprintf(name, sizeof(name), "%d.1.json", i);
        put(own, "aa", name, 1000 + i);
    }
    /* a draft of a recorder that was killed, one that is being written, and what is none */
    put(own, "aa", "8.0.json.AbCd12", 1000);
    put(own, "aa", "9.0.json.AbCd12", time(NULL) - 3600);
    put(own, "aa", "8.0.jsonl.AbCd1", 1000);
    snprintf(folder, sizeof(folder), "%s/aa", own);
    hm_store_trim(folder);
    assert_false(is_in(folder, "8.0.json.AbCd12"));
    assert_true(is_in(folder, "9.0.json.AbCd12") && is_in(folder, "8.0.jsonl.AbCd1"));
    assert_int_equal(hm_store_list(own, &entries, NULL), HM_STORE_KEPT + 1); /* and that of bb */
    for (int i = 0; i < HM_STORE_KEPT; i++)
        assert_non_null(strstr(entries[i].path, ".1.json"));
    free(entries);
}

static void test_root_writes_into_no_store(void **state)
{
    char folder[PATH_MAX];
    struct hm_error error = {""};
    (void)state;
    if (geteuid() != 0)
        assert_true(hm_store_lock("cc", folder, &error) >= 0);
    else
        assert_int_equal(hm_store_lock("cc", folder, &error), -1);
    if (geteuid() == 0)
        assert_string_equal(error.text, "root keeps no profiles");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_the_store_is),
        cmocka_unit_test(test_the_newest_of_the_build_is_found),
        cmocka_unit_test(test_all_are_listed),
        cmocka_unit_test(test_the_oldest_are_removed),
        cmocka_unit_test(test_root_writes_into_no_store),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
