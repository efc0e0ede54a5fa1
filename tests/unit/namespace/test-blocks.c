/* SPDX-License-Identifier: Apache-2.0 */
/* Tests memory blocks with a fake sysfs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/files.h"
#include "namespace/ram/blocks.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MIB (UINT64_C(1) << 20)
#define BLOCK (128 * MIB)

static struct hm_error error;
static int write_errno; /* errno of each write; 0: the write works */
static unsigned n_writes;

int hm_file_write(const char *path, const char *text, struct hm_error *why)
{
    (void)why;
    n_writes++;
    errno = write_errno;
    if (write_errno)
        return -1;
    scratch_write(path, text);
    return 0;
}

static void add(unsigned number, const char *state, const char *zones)
{
    char folder[256];
    snprintf(folder, sizeof(folder), "%s", scratch_path("node/node4/memory%u", number));
    assert_int_equal(mkdir(folder, 0700), 0);
    scratch_write(scratch_path("node/node4/memory%u/state", number), state);
    scratch_write(scratch_path("node/node4/memory%u/valid_zones", number), zones);
}

static int setup(void **state)
{
    assert_int_equal(scratch_make(state), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mkdir(scratch_path("%s", ((const char *[]){"memory", "node", "node/node4"})[i]), 0700), 0);
    scratch_write(scratch_path("memory/block_size_bytes"), "8000000\n");
    add(35, "online\n", "Movable\n"); /* a block of another device */
    add(41, "online\n", "Normal\n");
    add(40, "online\n", "Movable\n");
    add(42, "offline\n", "Normal Movable\n");
    add(43, "going-offline\n", "none\n");
    add(44, "online\n", "Movable\n"); /* only half of this block is in the range */
    scratch_write(scratch_path("node/node4/memory_failure"), "");
    scratch_write(scratch_path("node/node4/memory42x"), "");
    return 0;
}

static void test_the_blocks_of_a_range(void **state)
{
    (void)state;
    struct hm_blocks blocks;
    assert_int_equal(hm_blocks_read(scratch, 4, 39 * BLOCK + BLOCK / 2, 5 * BLOCK, &blocks, &error), 0);
    assert_int_equal(blocks.bytes, BLOCK);
    assert_int_equal(blocks.n, 4);
    assert_int_equal(blocks.online, 2);
    assert_int_equal(blocks.movable, 1);
    assert_int_equal(blocks.normal, 1);
    assert_int_equal(blocks.first_online, 40);
    assert_int_equal(blocks.last_online, 41);
    assert_int_equal(hm_blocks_read(scratch, 4, 45 * BLOCK, BLOCK, &blocks, &error), 0);
    assert_int_equal(blocks.n, 0);
    assert_int_equal(hm_blocks_read(scratch, 5, 40 * BLOCK, BLOCK, &blocks, &error), 0);
    assert_int_equal(blocks.n, 0);
}

static void check_states(const char *const wanted[4])
{
    char text[32];
    for (unsigned i = 0; i < 4; i++) {
        FILE *file = fopen(scratch_path("node/node4/memory%u/state", 40 + i), "re");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof(text), file));
        fclose(file);
        text[strcspn(text, "\n")] = '\0';
        assert_string_equal(text, wanted[i]);
    }
}

static void test_taking_blocks_offline(void **state)
{
    (void)state;
    static const char *const but_one[] = {"offline", "online", "offline", "going-offline"};
    static const char *const all[] = {"offline", "offline", "offline", "going-offline"};
    const uint64_t start = 39 * BLOCK + BLOCK / 2, bytes = 5 * BLOCK;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hm_blocks_take_offline(scratch, 4, start, bytes, false), 0);
        check_states(but_one);
    }
    assert_int_equal(hm_blocks_take_offline(scratch, 4, start, bytes, true), 0);
    check_states(all);
    assert_int_equal(hm_blocks_take_offline(scratch, 5, start, bytes, true), 0);
    assert_int_equal(hm_blocks_take_offline("/nonexistent", 4, start, bytes, true), -1);
    assert_int_equal(errno, ENOENT);
}

/* If a block stays online, the other blocks are tried anyway. A signal ends the tries. */
static void test_a_block_that_stays_online(void **state)
{
    struct hm_blocks blocks;
    (void)state;
    scratch_write(scratch_path("node/node4/memory40/state"), "online\n");
    scratch_write(scratch_path("node/node4/memory41/state"), "online\n");
    assert_int_equal(hm_blocks_read(scratch, 4, 40 * BLOCK, 4 * BLOCK, &blocks, &error), 0);
    assert_int_equal(blocks.online, 2);
    n_writes = 0;
    write_errno = EBUSY;
    assert_int_equal(hm_blocks_take_offline(scratch, 4, 40 * BLOCK, 4 * BLOCK, true), -1);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(n_writes, 2);
    n_writes = 0;
    write_errno = EINTR;
    assert_int_equal(hm_blocks_take_offline(scratch, 4, 40 * BLOCK, 4 * BLOCK, true), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(n_writes, 1);
    write_errno = 0;
}

static void test_how_many_fit(void **state)
{
    (void)state;
    static const struct {
        uint64_t start, bytes, block, n;
    } rows[] = {
        {0, BLOCK, BLOCK, 1},
        {0, BLOCK - 1, BLOCK, 0},
        {1, BLOCK, BLOCK, 0},
        {1, 2 * BLOCK, BLOCK, 1},
        {4 * MIB, 1276 * MIB, BLOCK, 9},
        {BLOCK / 2, BLOCK / 4, BLOCK, 0},
        {UINT64_MAX, 1, BLOCK, 0},
        {0, BLOCK, 0, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_int_equal(hm_blocks_within(rows[i].start, rows[i].bytes, rows[i].block), rows[i].n);
}

static void test_sizes_that_are_not_valid(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "0", "x", "8000000x", "8000001", "fffffffffffffffff"};
    for (size_t i = 0; i < N_ROWS(bad); i++) {
        scratch_write(scratch_path("memory/block_size_bytes"), bad[i]);
        assert_int_equal(hm_blocks_size(scratch, &error), 0);
        assert_non_null(strstr(error.text, "no size of memory blocks"));
    }
    assert_int_equal(hm_blocks_size("/nonexistent", &error), 0);
    assert_int_equal(errno, ENOENT);
    scratch_write(scratch_path("memory/block_size_bytes"), "8000000\n");
}

static void test_zones(void **state)
{
    (void)state;
    static const struct {
        unsigned movable, normal;
        const char *name;
    } rows[] = {{0, 0, ""}, {3, 0, "movable"}, {0, 3, "normal"}, {1, 2, "mixed"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_blocks blocks = {
            .n = 8, .online = rows[i].movable + rows[i].normal, .movable = rows[i].movable, .normal = rows[i].normal};
        assert_string_equal(hm_zone_name(hm_blocks_zone(&blocks)), rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_blocks_of_a_range),     cmocka_unit_test(test_taking_blocks_offline),
        cmocka_unit_test(test_a_block_that_stays_online), cmocka_unit_test(test_how_many_fit),
        cmocka_unit_test(test_sizes_that_are_not_valid),  cmocka_unit_test(test_zones),
    };
    return cmocka_run_group_tests(tests, setup, scratch_drop);
}
