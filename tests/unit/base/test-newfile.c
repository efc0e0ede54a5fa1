/* SPDX-License-Identifier: Apache-2.0 */
/* Tests where a file that a user has named is made, and whose it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/newfile.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static bool is_root;      /* the caller seems to be root */
static bool is_strangers; /* the caller, the owner of files and that of folders seem to be three users */
static uid_t chown_uid;   /* to whom a file was given */

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_fchown(int fd, uid_t uid, gid_t gid);

uid_t __wrap_geteuid(void)
{
    return is_root ? 0 : __real_geteuid() + is_strangers;
}

int __wrap_stat(const char *path, struct stat *status)
{
    int result = __real_stat(path, status);
    if (result == 0 && is_strangers && S_ISDIR(status->st_mode))
        status->st_uid += 2;
    return result;
}

int __wrap_fchown(int fd, uid_t uid, gid_t gid)
{
    (void)fd, (void)gid;
    chown_uid = uid;
    return 0;
}

/* Makes the file by this name of the folder. Returns 0 or an errno. */
static int make(const char *name)
{
    struct hm_newfile file;
    struct hm_error error = {0};
    int result = hm_newfile_open(&file, scratch_path("shared/%s", name), "app.json", &error) == 0 ? 0 : errno;
    if (result == 0) {
        assert_int_equal(write(file.fd, "new", 3), 3);
        assert_int_equal(hm_newfile_place(&file), 0);
    } else {
        assert_non_null(strstr(error.text, name));
    }
    hm_newfile_close(&file);
    return result;
}

static const char *content(const char *path)
{
    static char text[8];
    assert_int_equal(hm_file_read(path, text, sizeof(text), NULL), 0);
    return text;
}

static int fresh(void **state)
{
    (void)state;
    is_root = is_strangers = false;
    chown_uid = (uid_t)-1;
    assert_int_equal(scratch_remove(scratch_path("shared")), 0);
    assert_int_equal(scratch_remove(scratch_path("home")), 0);
    assert_int_equal(mkdir(scratch_path("shared"), 0755), 0);
    assert_int_equal(mkdir(scratch_path("home"), 0755), 0);
    scratch_write(scratch_path("home/rc"), "old");
    scratch_write(scratch_path("shared/file"), "old");
    assert_int_equal(symlink("../home/rc", scratch_path("shared/link")), 0);
    assert_int_equal(symlink("link", scratch_path("shared/second")), 0);
    assert_int_equal(symlink("../home/missing", scratch_path("shared/dangling")), 0);
    assert_int_equal(symlink("circle", scratch_path("shared/circle")), 0);
    return 0;
}

static void links_are_followed(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(make("second"), 0);
    assert_string_equal(content(scratch_path("home/rc")), "new");
    assert_int_equal(make("dangling"), 0);
    assert_string_equal(content(scratch_path("home/missing")), "new");
    assert_int_equal(lstat(scratch_path("shared/dangling"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(make("circle"), ELOOP);
    assert_int_equal(make("none"), 0);
    assert_string_equal(content(scratch_path("shared/none")), "new");
}

/* Somebody else may have put it into a folder such as /tmp, for the caller to overwrite what he names. */
static void what_may_be_a_trap_is_refused(void **state)
{
    static const struct {
        const char *name;
        mode_t mode; /* of its folder */
        bool is_strangers;
        int result;
    } rows[] = {
        {"link", 01777, true, EACCES}, {"second", 01777, true, EACCES}, {"dangling", 01777, true, EACCES},
        {"file", 01777, true, EACCES}, {"none", 01777, true, 0},        {"link", 01777, false, 0},
        {"link", 0777, true, 0},       {"link", 01775, true, 0},        {"file", 0755, true, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(fresh(state), 0);
        assert_int_equal(chmod(scratch_path("shared"), rows[i].mode), 0);
        is_strangers = rows[i].is_strangers;
        int result = make(rows[i].name);
        is_strangers = false;
        if (result != rows[i].result)
            fail_msg("row %zu: %s", i, strerror(result));
        if (result != 0)
            assert_string_equal(content(scratch_path("home/rc")), "old");
    }
}

static void what_root_replaces_stays_its_owners(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(__real_stat(scratch_path("home/rc"), &status), 0);
    is_strangers = true;
    assert_int_equal(make("link"), 0);
    assert_int_equal(chown_uid, (uid_t)-1); /* for anybody else it cannot */
    is_strangers = false;
    if (__real_geteuid() == 0) /* a file of this user's needs no fchown then */
        assert_int_equal(chown(scratch_path("home/rc"), 4242, 4242), 0);
    is_root = true;
    assert_int_equal(make("link"), 0);
    is_root = false;
    assert_int_equal(chown_uid, __real_geteuid() == 0 ? 4242 : status.st_uid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(links_are_followed, fresh),
        cmocka_unit_test(what_may_be_a_trap_is_refused),
        cmocka_unit_test_setup(what_root_replaces_stays_its_owners, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
