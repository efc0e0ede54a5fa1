/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the kernel's files for idle pages are read and written, on simulated ones. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/damon/broker/idlebitmap.h"

#define WORDS 2048
#define PRESENT (UINT64_C(1) << 63)
#define ALONE (UINT64_C(1) << 56)
#define LRU (UINT64_C(1) << KPF_LRU)
#define ANON (UINT64_C(1) << KPF_ANON | LRU)

/* The simulated files. Their descriptors are FIRST and what follows. */
enum { BITS, FLAGS, MAP, FILES };
#define FIRST 9000
static const char *const paths[FILES] = {"/sys/kernel/mm/page_idle/bitmap", "/proc/kpageflags", "/proc/77/pagemap"};
static uint64_t word[FILES][WORDS];
static int missing; /* index of the file that cannot be opened; FILES: none */
static int n_open;

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *buffer, size_t size, off_t at);

int __wrap_open(const char *path, int flags, ...)
{
    (void)flags;
    for (int i = 0; i < FILES; i++)
        if (strcmp(path, paths[i]) == 0 && i != missing) {
            n_open++;
            return FIRST + i;
        }
    errno = ENOENT;
    return -1;
}

int __wrap_close(int fd)
{
    assert_in_range(fd, FIRST, FIRST + FILES - 1);
    n_open--;
    return 0;
}

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t at)
{
    if ((uint64_t)at + size > sizeof(word[0]))
        return 0;
    memcpy(buffer, (char *)word[fd - FIRST] + at, size);
    return (ssize_t)size;
}

ssize_t __wrap_pwrite(int fd, const void *buffer, size_t size, off_t at)
{
    uint64_t bits;
    assert_int_equal(fd, FIRST + BITS);
    assert_int_equal(size, sizeof(bits));
    memcpy(&bits, buffer, size);
    word[BITS][at / 8] |= bits; /* a clear bit changes nothing */
    return (ssize_t)size;
}

static struct hm_idle_bitmap bitmap;

static int set_up(void **state)
{
    (void)state;
    memset(word, 0, sizeof(word));
    missing = FILES;
    return hm_idle_open(&bitmap, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    hm_idle_close(&bitmap);
    return n_open;
}

static void frames_are_found(void **state)
{
    (void)state;
    const uint64_t page[] = {3, 4, 5, 6, 7, 8, WORDS};
    uint64_t frame[7];
    word[MAP][3] = PRESENT | 100;
    word[FLAGS][100] = ANON;
    word[MAP][4] = 100; /* swapped out */
    word[MAP][5] = PRESENT | 101;
    word[FLAGS][101] = UINT64_C(1) << KPF_ZERO_PAGE;
    word[MAP][6] = PRESENT; /* we may not see it */
    word[MAP][7] = PRESENT | (1024 + 300);
    word[FLAGS][1024 + 300] = UINT64_C(1) << KPF_COMPOUND_TAIL;
    for (int i = 1; i < 9; i++) /* the frames at its smaller alignments */
        word[FLAGS][(1024 + 300) >> i << i] = UINT64_C(1) << KPF_COMPOUND_TAIL;
    word[FLAGS][1024] = UINT64_C(1) << KPF_COMPOUND_HEAD | ANON;
    word[MAP][8] = PRESENT | WORDS; /* there is no such frame */
    assert_int_equal(hm_idle_find(&bitmap, 77, page, 7, frame, NULL), 0);
    const uint64_t expected[] = {100,  HM_IDLE_ABSENT,  HM_IDLE_UNKNOWN, HM_IDLE_UNKNOWN,
                                 1024, HM_IDLE_UNKNOWN, HM_IDLE_UNKNOWN};
    assert_memory_equal(frame, expected, sizeof(expected));
}

static void what_others_may_use_is_not_followed(void **state)
{
    (void)state;
    const struct {
        uint64_t word, flags;
        bool is_followed;
    } rows[] = {
        {0, ANON, true},
        {0, LRU, false}, /* of a file, such as a library */
        {ALONE, LRU, true},
        {0, LRU | UINT64_C(1) << KPF_SWAPBACKED, true}, /* shared memory */
        {0, ANON | UINT64_C(1) << KPF_KSM, false},
        {ALONE, ANON | UINT64_C(1) << KPF_KSM, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t page = i;
        uint64_t frame;
        word[MAP][i] = PRESENT | rows[i].word | (100 + i);
        word[FLAGS][100 + i] = rows[i].flags;
        assert_int_equal(hm_idle_find(&bitmap, 77, &page, 1, &frame, NULL), 0);
        assert_true(frame == (rows[i].is_followed ? 100 + i : HM_IDLE_UNKNOWN));
    }
}

static void a_frame_has_its_bit(void **state)
{
    (void)state;
    bool is_used;
    assert_int_equal(hm_idle_mark(&bitmap, 130), 0);
    assert_true(word[BITS][2] == 4);
    assert_int_equal(hm_idle_look(&bitmap, 130, &is_used), 0);
    assert_false(is_used);
    assert_int_equal(hm_idle_look(&bitmap, 131, &is_used), 0);
    assert_true(is_used);
    assert_int_equal(hm_idle_look(&bitmap, UINT64_C(64) * WORDS, &is_used), -1);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    struct hm_idle_bitmap other;
    struct hm_error error = {{0}};
    uint64_t page = 1, frame;
    missing = BITS;
    assert_int_equal(hm_idle_open(&other, &error), -1);
    assert_string_equal(error.text, "this kernel has no idle bitmap (CONFIG_IDLE_PAGE_TRACKING)");
    assert_int_equal(other.bits, -1);
    missing = FLAGS;
    assert_int_equal(hm_idle_open(&other, &error), -1);
    assert_non_null(strstr(error.text, "cannot open /proc/kpageflags"));
    assert_int_equal(other.bits, -1);
    missing = MAP;
    assert_int_equal(hm_idle_find(&bitmap, 77, &page, 1, &frame, &error), -1);
    assert_non_null(strstr(error.text, "cannot open /proc/77/pagemap"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_others_may_use_is_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_frame_has_its_bit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
