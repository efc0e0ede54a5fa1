/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the notes of a process know of its mappings and allocations, against a plain list of who has which page.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "sites/record/blocks.h"
#include "unit/lib/scratch.h"

/* tests/meter/placements.py reads both of recorded runs. */
_Static_assert(sizeof(struct hm_sites_entry) == 264 && sizeof(struct hm_sites_block) == 40,
               "tests/meter/placements.py knows the sizes");

#define PAGE 4096
#define PAGES 400
#define MOST_PAGES 12
#define BASE ((uintptr_t)1 << 40)
#define STEPS 200000
#define HELD 32

static struct {
    bool is_full;
    int calls;
    off_t from, bytes; /* of the last call */
} disk;
static time_t seconds = 100;

int __real_posix_fallocate(int fd, off_t from, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t from, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t from, off_t bytes)
{
    disk.calls++;
    disk.from = from;
    disk.bytes = bytes;
    return disk.is_full ? ENOSPC : __real_posix_fallocate(fd, from, bytes);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = seconds};
    return 0;
}

static uint64_t mapping_at[PAGES]; /* the number of the mapping that has the page; 0: none */

static uintptr_t address_of(size_t page)
{
    return BASE + page * PAGE;
}

/* Of a mapping that is cut in the middle, the rest behind it is forgotten. */
static void cut(size_t from, size_t to)
{
    uint64_t expected = 0, found = 0;
    uint64_t first = mapping_at[from], divided = from > 0 && mapping_at[from - 1] == first ? first : 0;
    for (size_t page = from; page < PAGES; page++)
        if (mapping_at[page] != 0 && (page < to || mapping_at[page] == divided)) {
            mapping_at[page] = 0;
            expected += PAGE;
        }
    for (struct hm_blocks_part part; (part = hm_blocks_cut(address_of(from), (to - from) * PAGE)).bytes > 0;)
        found += part.bytes;
    assert_int_equal(found, expected);
}

static void test_mappings_that_are_cut(void **state)
{
    struct hm_random random = {1};
    uint64_t held[HELD] = {0};
    (void)state;
    for (uint64_t step = 1; step <= STEPS; step++) {
        size_t from = hm_random_next(&random) % (PAGES - MOST_PAGES);
        size_t to = from + 1 + hm_random_next(&random) % MOST_PAGES, at = step % HELD;
        cut(from, to);
        if (hm_random_next(&random) % 4 > 0) {
            const struct hm_blocks_new new = {
                .address = address_of(from), .bytes = (to - from) * PAGE, .entry = 1, .is_mapping = true};
            assert_true(hm_blocks_add(&new));
            for (size_t page = from; page < to; page++)
                mapping_at[page] = step;
        }
        /* Allocations inside, which mappings that are cut do not end. */
        if (held[at])
            assert_int_equal(hm_blocks_drop(BASE + held[at]).bytes, 100 + at);
        held[at] = hm_random_next(&random) % PAGES * PAGE + 16 * (at + 1);
        assert_true(
            hm_blocks_add(&(const struct hm_blocks_new){.address = BASE + held[at], .bytes = 100 + at, .entry = 2}));
    }
    uint64_t left = 0, found = 0;
    for (size_t page = 0; page < PAGES; page++)
        left += mapping_at[page] ? PAGE : 0;
    for (struct hm_blocks_part part; (part = hm_blocks_drop_any()).entry < HM_SITES_ENTRIES;)
        found += part.entry == 1 ? part.bytes : 0;
    assert_int_equal(found, left);
}

static void test_as_many_mappings_as_there_is_room_for(void **state)
{
    (void)state;
    for (size_t i = 0; i <= HM_SITES_MAPPINGS; i++) {
        const struct hm_blocks_new new = {
            .address = address_of(i * 7919 % 8192), .bytes = PAGE, .entry = 1, .is_mapping = true};
        assert_int_equal(hm_blocks_add(&new), i < HM_SITES_MAPPINGS);
    }
    uint64_t found = 0;
    for (struct hm_blocks_part part; (part = hm_blocks_cut(BASE, (uint64_t)8192 * PAGE)).bytes > 0;)
        found += part.bytes;
    assert_int_equal(found, (uint64_t)HM_SITES_MAPPINGS * PAGE);
}

static bool add(size_t page)
{
    return hm_blocks_add(&(const struct hm_blocks_new){.address = address_of(page), .bytes = PAGE, .entry = 1});
}

/* Each allocation goes there while the disk is full. */
static void test_a_full_disk_is_tried_once_a_second(void **state)
{
    size_t n = 0;
    (void)state;
    disk.is_full = true;
    disk.calls = 0;
    while (n < HM_SITES_BLOCKS && add(n))
        n++;
    assert_int_equal(disk.calls, 1);
    const off_t end = (off_t)(sizeof(struct hm_sites_process) + n * sizeof(struct hm_sites_block));
    for (int i = 0; i < 100; i++)
        assert_false(add(n));
    assert_int_equal(disk.calls, 1);
    seconds++;
    assert_false(add(n));
    assert_false(add(n));
    assert_int_equal(disk.calls, 2);
    disk.is_full = false;
    seconds++;
    assert_true(add(n));
    assert_int_equal(disk.from, end); /* what it had is not gone over again */
    assert_int_equal(disk.bytes, n * sizeof(struct hm_sites_block));
    assert_int_equal(disk.calls, 3);
    for (size_t i = 0; i <= n; i++)
        assert_int_equal(hm_blocks_drop(address_of(i)).bytes, PAGE);
}

static int open_blocks(void **state)
{
    char path[256];
    if (scratch_make(state) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/blocks", scratch);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_open = fd >= 0 && hm_blocks_open(fd, path, getpid());
    if (fd >= 0)
        close(fd);
    return is_open ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_disk_is_tried_once_a_second), /* the first one: no number of a block is spare */
        cmocka_unit_test(test_as_many_mappings_as_there_is_room_for),
        cmocka_unit_test(test_mappings_that_are_cut), /* the last one: it ends the notes */
    };
    return cmocka_run_group_tests(tests, open_blocks, scratch_drop);
}
