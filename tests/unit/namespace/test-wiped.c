/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a wipe which was stopped at its time limit goes on from there the next time, but only if that is safe. The
 * device is a file here. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "filedevice.h"
#include "namespace/pmem/wipe.h"
#include "namespace/pmem/wiped.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define PIECE (256 * MIB)
#define LARGE (600 * MIB) /* three pieces: 256, 256 and 88 MiB */
#define NAME "hybridmem:testbed:7.0.0"
#define OTHER "hybridmem:testbed:8.0.0"

static struct hm_error error;
static struct hm_config config;
static char device[256], target[256];
static char zeroed[256];       /* what was zeroed, as start+length in MiB: "0+256 256+256 " */
static bool is_kept_meanwhile; /* the progress file was there while a piece was zeroed */
static bool flush_fails;

int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    (void)fd;
    errno = EIO;
    return flush_fails ? -1 : 0;
}

/* The file with the progress of a namespace's wipe. */
static const char *kept(const char *name)
{
    return scratch_path("run/root/node/wiped/%s", name);
}

/* Records the zeroing, and writes zeros only to the first page of the range: the device is a sparse file, which reads
 * as zeros anyway. */
int filedevice_zero(int fd, uint64_t start, uint64_t bytes)
{
    static const char zeros[4096];
    size_t used = strlen(zeroed);
    is_kept_meanwhile = is_kept_meanwhile || access(kept(NAME), F_OK) == 0;
    snprintf(zeroed + used, sizeof(zeroed) - used, "%u+%u ", (unsigned)(start / MIB), (unsigned)(bytes / MIB));
    assert_int_equal(pwrite(fd, zeros, sizeof(zeros), (off_t)start), sizeof(zeros));
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    scratch_remove(scratch_path("run"));
    snprintf(config.run_dir, sizeof(config.run_dir), "%s", scratch_path("run"));
    snprintf(device, sizeof(device), "%s", scratch_path("device"));
    snprintf(target, sizeof(target), "%s", scratch_path("target"));
    assert_int_equal(close(creat(device, 0600)), 0);
    assert_int_equal(truncate(device, (off_t)LARGE), 0);
    zeroed[0] = '\0';
    is_kept_meanwhile = flush_fails = false;
    seconds_each = 10;
    hm_wiped_begin(&config);
    return 0;
}

/* Try a wipe with time for this number of pieces (3: without a limit). What was zeroed is in `zeroed`. */
static int try(const char *name, unsigned pieces)
{
    zeroed[0] = '\0';
    error.text[0] = '\0';
    hm_wipe_limit(pieces == 3 ? 0 : 10 * pieces + 1);
    return hm_wiped_wipe(name, device, LARGE, &error);
}

static void expect_cut(int result, const char *pieces, unsigned mib)
{
    char expected[64];
    assert_int_equal(result, -1);
    assert_int_equal(errno, ETIME);
    assert_string_equal(zeroed, pieces);
    snprintf(expected, sizeof(expected), "%u of 600 MiB of ", mib);
    assert_int_equal(strncmp(error.text, expected, strlen(expected)), 0);
}

static void write_byte(uint64_t at)
{
    int fd = __real_open(device, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, (off_t)at), 1);
    close(fd);
}

static void test_cut_twice_each_piece_is_zeroed_once(void **state)
{
    (void)state;
    char text[128] = "";
    expect_cut(try(NAME, 1), "0+256 ", 256);
    int fd = __real_open(kept(NAME), O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    assert_string_equal(text, NAME " 629145600 268435456\n");
    expect_cut(try(NAME, 1), "256+256 ", 512);
    /* A try without any time does not lose progress. */
    expect_cut(try(NAME, 0), "", 512);
    assert_int_equal(try(NAME, 3), 0);
    assert_string_equal(zeroed, "512+88 ");
    assert_false(is_kept_meanwhile);
    assert_int_equal(access(kept(NAME), F_OK), -1);
    assert_int_equal(try(NAME, 3), 0);
    assert_string_equal(zeroed, "0+256 256+256 512+88 ");
}

static void test_what_was_written_meanwhile_is_seen_in_the_end(void **state)
{
    (void)state;
    expect_cut(try(NAME, 1), "0+256 ", 256);
    write_byte(8192);
    assert_int_equal(try(NAME, 3), -1);
    assert_int_equal(errno, EIO);
    assert_string_equal(zeroed, "256+256 512+88 ");
    assert_non_null(strstr(error.text, "is not zero within 1048576 bytes from byte 0 on"));
    /* The next wipe begins anew. */
    (void)try(NAME, 3);
    assert_string_equal(zeroed, "0+256 256+256 512+88 ");
}

static void test_progress_that_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        const char *text; /* name, size and progress in bytes */
        mode_t mode;
        const char *zeroed;
    } rows[] = {
        {"", 0600, "0+256 "},
        {"\n", 0600, "0+256 "},
        {NAME "\n", 0600, "0+256 "},
        {NAME " 629145600 268435456", 0600, "0+256 "},
        {NAME " 629145600 268435456\nx", 0600, "0+256 "},
        {NAME " 629145600 268435456 \n", 0600, "0+256 "},
        {NAME " 629145600 -268435456\n", 0600, "0+256 "},
        {NAME " 629145600 0268435456\n", 0600, "0+256 "},
        {NAME " 629145600 629145601\n", 0600, "0+256 "},
        {NAME " 629145600 629145600\n", 0600, "0+256 "},
        {NAME " 629145601 268435456\n", 0600, "0+256 "},
        {OTHER " 629145600 268435456\n", 0600, "0+256 "},
        {NAME " 629145600 268435456\n", 0666, "0+256 "},
        {NAME " 629145600 268435455\n", 0600, "0+256 "},
        {NAME " 629145600 268435456\n", 0600, "256+256 "},
        {NAME " 629145600 268435457\n", 0600, "256+256 "},
    };
    expect_cut(try(NAME, 1), "0+256 ", 256);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        scratch_write(kept(NAME), rows[i].text);
        assert_int_equal(chmod(kept(NAME), rows[i].mode), 0);
        assert_int_equal(try(NAME, 1), -1);
        assert_string_equal(zeroed, rows[i].zeroed);
        assert_int_equal(unlink(kept(NAME)), 0);
    }
    assert_false(is_kept_meanwhile);
}

static void test_progress_that_others_can_write_is_not_believed(void **state)
{
    (void)state;
    expect_cut(try(NAME, 1), "0+256 ", 256);
    scratch_write(target, NAME " 629145600 268435456\n");
    assert_int_equal(unlink(kept(NAME)), 0);
    assert_int_equal(symlink(target, kept(NAME)), 0);
    expect_cut(try(NAME, 1), "0+256 ", 256);
    assert_int_equal(access(target, F_OK), 0);
    /* A folder is in the place of the progress file: no progress is read, and the error says that none was written. */
    assert_int_equal(unlink(kept(NAME)), 0);
    assert_int_equal(mkdir(kept(NAME), 0700), 0);
    expect_cut(try(NAME, 1), "0+256 ", 256);
    assert_non_null(strstr(error.text, "; the next wipe begins anew: cannot write "));
    assert_int_equal(rmdir(kept(NAME)), 0);
    assert_int_equal(chmod(scratch_path("run/root/node/wiped"), 0777), 0);
    scratch_write(kept(NAME), NAME " 629145600 268435456\n");
    expect_cut(try(NAME, 1), "0+256 ", 256);
    assert_non_null(strstr(error.text, "; the next wipe begins anew: the folder wiped must belong to "));
    if (geteuid() == 0) {
        assert_int_equal(chmod(scratch_path("run/root/node/wiped"), 0700), 0);
        assert_int_equal(chown(kept(NAME), 1001, 1001), 0);
        expect_cut(try(NAME, 1), "0+256 ", 256);
    }
}

static void test_what_is_not_flushed_is_not_done(void **state)
{
    (void)state;
    flush_fails = true;
    expect_cut(try(NAME, 1), "0+256 ", 256);
    assert_int_equal(access(kept(NAME), F_OK), -1);
    flush_fails = false;
    assert_int_equal(try(NAME, 3), 0);
    assert_string_equal(zeroed, "0+256 256+256 512+88 ");
}

static void test_no_progress_without_a_folder_or_a_finished_piece(void **state)
{
    (void)state;
    expect_cut(try(NAME, 0), "", 0);
    assert_int_equal(access(kept(NAME), F_OK), -1);
    hm_wiped_begin(NULL);
    expect_cut(try(NAME, 1), "0+256 ", 256);
    hm_wiped_tidy(NULL, 0);
    assert_int_equal(hm_wiped_drop(NAME, &error), 0);
    assert_int_equal(access(kept(NAME), F_OK), -1);
}

static void test_progress_goes_with_its_namespace(void **state)
{
    (void)state;
    const struct hm_namespace there[] = {{.name = OTHER}};
    expect_cut(try(NAME, 1), "0+256 ", 256);
    expect_cut(try(OTHER, 1), "0+256 ", 256);
    hm_wiped_tidy(there, 1);
    assert_int_equal(access(kept(NAME), F_OK), -1);
    assert_int_equal(access(kept(OTHER), F_OK), 0);
    assert_int_equal(hm_wiped_drop(OTHER, &error), 0);
    assert_int_equal(hm_wiped_drop(OTHER, &error), 0);
    assert_int_equal(access(kept(OTHER), F_OK), -1);
    /* Progress that cannot be removed is an error, as a later namespace of that name might use it. */
    assert_int_equal(mkdir(kept(OTHER), 0700), 0);
    assert_int_equal(hm_wiped_drop(OTHER, &error), -1);
    assert_non_null(strstr(error.text, "/wiped/" OTHER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_cut_twice_each_piece_is_zeroed_once, fresh),
        cmocka_unit_test_setup(test_what_was_written_meanwhile_is_seen_in_the_end, fresh),
        cmocka_unit_test_setup(test_progress_that_is_not_believed, fresh),
        cmocka_unit_test_setup(test_progress_that_others_can_write_is_not_believed, fresh),
        cmocka_unit_test_setup(test_what_is_not_flushed_is_not_done, fresh),
        cmocka_unit_test_setup(test_no_progress_without_a_folder_or_a_finished_piece, fresh),
        cmocka_unit_test_setup(test_progress_goes_with_its_namespace, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
