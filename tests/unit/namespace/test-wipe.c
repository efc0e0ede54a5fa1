/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the wipe of a device (here a file) and its verification. Also tests where a mountinfo file says that a device
 * is mounted, and that only mounts of block devices are detached. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "filedevice.h"
#include "namespace/mount/detach.h"
#include "namespace/mount/mountinfo.h"
#include "namespace/pmem/blockdevice.h"
#include "namespace/pmem/wipe.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define SIZE (9 * MIB)    /* several strides of the verification */
#define LARGE (600 * MIB) /* three pieces, zeroed one after the other */

static struct hm_error error;
/* What the device does when it is to zero a range. MISSES_THE_LAST leaves out the last byte. */
static enum { ZEROES, DOES_NOTHING, MISSES_THE_LAST, MISSES_A_STRIDE, FAILS } device_does;

void __wrap_syslog(int priority, const char *format, ...);

static char logged[512];

void __wrap_syslog(int priority, const char *format, ...)
{
    size_t used = strlen(logged);
    va_list arguments;
    assert_int_equal(priority, LOG_DAEMON | LOG_INFO);
    va_start(arguments, format);
    vsnprintf(logged + used, sizeof(logged) - used, format, arguments);
    va_end(arguments);
}

int filedevice_zero(int fd, uint64_t start, uint64_t bytes)
{
    static const char zeros[MIB];
    errno = EIO;
    if (device_does == FAILS)
        return -1;
    uint64_t end = start + bytes - (device_does == MISSES_THE_LAST);
    for (uint64_t at = start; device_does != DOES_NOTHING && at < end; at += MIB)
        if (device_does != MISSES_A_STRIDE || at != 5 * MIB)
            assert_true(pwrite(fd, zeros, end - at < MIB ? end - at : MIB, (off_t)at) > 0);
    return 0;
}

static const char *full_device(void)
{
    static char data[MIB];
    char *path = scratch_path("device");
    int fd = creat(path, 0600);
    assert_true(fd >= 0);
    memset(data, 'x', sizeof(data));
    for (uint64_t at = 0; at < SIZE; at += MIB)
        assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
    close(fd);
    return path;
}

static void test_all_of_it_is_zeroed(void **state)
{
    (void)state;
    char byte;
    const char *path = full_device();
    device_does = ZEROES;
    assert_int_equal(hm_wipe(path, SIZE, SIZE, &error), 0);
    int fd = __real_open(path, O_RDONLY);
    for (uint64_t at = 0; at < SIZE; at += 4095)
        assert_true(pread(fd, &byte, 1, (off_t)at) == 1 && byte == 0);
    close(fd);
}

static void test_a_wipe_that_did_not_work_is_seen(void **state)
{
    (void)state;
    char expected[256];
    const char *path = full_device();
    device_does = DOES_NOTHING;
    assert_int_equal(hm_wipe(path, SIZE, SIZE, &error), -1);
    assert_int_equal(errno, EIO);
    snprintf(expected, sizeof(expected), "%s is not zero within 1048576 bytes from byte 0 on after its wipe", path);
    assert_string_equal(error.text, expected);
    device_does = MISSES_THE_LAST;
    assert_int_equal(hm_wipe(path, SIZE, SIZE, &error), -1);
    snprintf(expected, sizeof(expected), "%s is not zero within 1048576 bytes from byte 8388608 on after its wipe",
             path);
    assert_string_equal(error.text, expected);
    path = full_device();
    device_does = MISSES_A_STRIDE;
    assert_int_equal(hm_wipe(path, SIZE, SIZE, &error), -1);
    snprintf(expected, sizeof(expected), "%s is not zero within 4096 bytes from byte 5263360 on after its wipe", path);
    assert_string_equal(error.text, expected);
    device_does = FAILS;
    assert_int_equal(hm_wipe(path, SIZE, SIZE, &error), -1);
    assert_int_equal(errno, EIO);
    assert_non_null(strstr(error.text, "cannot zero"));
}

static uint64_t count_zeros(const char *path)
{
    static char data[SIZE];
    uint64_t zeros = 0;
    int fd = __real_open(path, O_RDONLY);
    assert_int_equal(read(fd, data, sizeof(data)), SIZE);
    for (uint64_t at = 0; at < SIZE; at++)
        zeros += data[at] == 0;
    close(fd);
    return zeros;
}

static void test_the_edges_alone_are_zeroed_where_the_rest_is_zero(void **state)
{
    (void)state;
    static const struct {
        uint64_t edge, zeros;
    } rows[] = {{0, 0}, {4096, 8192}, {2 * MIB, 4 * MIB}, {SIZE / 2, SIZE}, {SIZE - 512, SIZE}, {SIZE, SIZE}};
    device_does = ZEROES;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *path = full_device();
        /* What is between the edges is verified, too. */
        assert_int_equal(hm_wipe(path, SIZE, rows[i].edge, &error), rows[i].zeros == SIZE ? 0 : -1);
        assert_int_equal(count_zeros(path), rows[i].zeros);
    }
    const char *path = full_device();
    assert_int_equal(hm_device_bytes(path), SIZE);
    assert_int_equal(hm_wipe(path, SIZE, SIZE, &error), 0);
    assert_int_equal(hm_wipe(path, SIZE, 0, &error), 0);
    assert_int_equal(hm_device_bytes(scratch_path("none")), 0);
}

/* A node that is short of memory or descriptors is not drained for it, as it would be for a device of size 0. */
static void test_a_size_that_is_not_known_for_now_says_why(void **state)
{
    static const int shortages[] = {ENOMEM, EMFILE, ENFILE};
    (void)state;
    const char *path = full_device();
    uint64_t bytes = 0;
    for (size_t i = 0; i < N_ROWS(shortages); i++) {
        open_fails_by = shortages[i];
        assert_int_equal(hm_device_size(path, &bytes, &error), -1);
        assert_true(errno == shortages[i] && hm_is_shortage(errno));
    }
    assert_int_equal(hm_device_size(path, &bytes, &error), 0);
    assert_int_equal(bytes, SIZE);
}

static void test_wipes_end_at_their_limit(void **state)
{
    (void)state;
    char expected[256];
    const char *path = scratch_path("large");
    assert_int_equal(close(creat(path, 0600)), 0);
    assert_int_equal(truncate(path, (off_t)LARGE), 0);
    device_does = ZEROES;
    seconds_each = 10;
    logged[0] = '\0';
    hm_wipe_limit(31);
    assert_int_equal(hm_wipe(path, LARGE, LARGE, &error), 0);
    snprintf(expected, sizeof(expected), "wiping %s: 256 of 600 MiBwiping %s: 512 of 600 MiB", path, path);
    assert_string_equal(logged, expected);
    /* The limit is for all wipes together: the first one has used it up. */
    assert_int_equal(hm_wipe(path, LARGE, LARGE, &error), -1);
    assert_int_equal(errno, ETIME);
    hm_wipe_limit(20);
    assert_int_equal(hm_wipe(path, LARGE, LARGE, &error), -1);
    assert_int_equal(errno, ETIME);
    snprintf(expected, sizeof(expected), "256 of 600 MiB of %s are wiped after 20 s", path);
    assert_string_equal(error.text, expected);
    hm_wipe_limit(0);
    assert_int_equal(hm_wipe(path, LARGE, LARGE, &error), 0);
    seconds_each = 0;
}

static void test_a_device_of_another_size_is_left_alone(void **state)
{
    (void)state;
    const char *path = full_device();
    device_does = FAILS;
    assert_int_equal(hm_wipe(path, SIZE + 1, SIZE, &error), -1);
    assert_non_null(strstr(error.text, "has 9437184 bytes, its namespace 9437185: it is not wiped"));
    assert_int_equal(hm_wipe(scratch_path("none"), SIZE, SIZE, &error), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_places_of_mounts(void **state)
{
    (void)state;
    static const char text[] = "21 1 259:1 /\n"
                               "\n"
                               "20 1 0:30 / /m rw - tmpfs /dev/root rw\n" /* libmount would look for that device */
                               "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                               "23 22 0:21 / /proc rw - proc proc rw\n"
                               "57 22 259:1 / /run/a\\040b\\134 rw shared:2 - ext4 /dev/pmem0 rw,dax=always\n"
                               "58 22 259:1 /x /mnt rw - ext4 /dev/pmem0 rw\n";
    const char *path = scratch_path("mountinfo");
    char place[16] = "";
    scratch_write(path, text);
    assert_int_equal(hm_mountinfo_place(path, makedev(259, 1), place, sizeof(place)), 1);
    assert_string_equal(place, "/run/a b\\");
    assert_int_equal(hm_mountinfo_place(path, makedev(259, 1), place, 10), 1);
    assert_int_equal(hm_mountinfo_place(path, makedev(259, 1), place, 9), -1);
    assert_int_equal(hm_mountinfo_place(path, makedev(254, 0), place, sizeof(place)), 1);
    assert_string_equal(place, "/");
    assert_int_equal(hm_mountinfo_place(path, makedev(259, 0), place, sizeof(place)), 0);
    assert_int_equal(hm_mountinfo_place(path, makedev(22, 1), place, sizeof(place)), 0);
    assert_int_equal(hm_mountinfo_place(scratch_path("none"), makedev(259, 1), place, sizeof(place)), -1);
    assert_false(hm_mountinfo_sees("0", makedev(259, 1)));
}

static void test_only_mounts_of_devices_are_detached(void **state)
{
    (void)state;
    char names[16] = "before";
    double end_s = hm_clock_s(CLOCK_MONOTONIC) + 10;
    assert_false(hm_detach("/nonexistent", end_s, names, sizeof(names)));
    assert_string_equal(names, "");
    assert_false(hm_detach("/dev/null", end_s, names, sizeof(names)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_is_zeroed),
        cmocka_unit_test(test_a_wipe_that_did_not_work_is_seen),
        cmocka_unit_test(test_the_edges_alone_are_zeroed_where_the_rest_is_zero),
        cmocka_unit_test(test_a_size_that_is_not_known_for_now_says_why),
        cmocka_unit_test(test_wipes_end_at_their_limit),
        cmocka_unit_test(test_a_device_of_another_size_is_left_alone),
        cmocka_unit_test(test_places_of_mounts),
        cmocka_unit_test(test_only_mounts_of_devices_are_detached),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
