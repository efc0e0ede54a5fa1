/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how much of its memory each site has touched, by the page map of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "sites/record/resident.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)
#define SLICE (8 * MIB / HM_SLICES)
#define SMALL 100
#define MOST_BLOCKS 8

enum { PART, SHARED, MIXED, WHOLE, N_SITES };

static struct hm_watch *watch;
static struct hm_sites_table table;
static struct hm_watch_resident resident;
static struct {
    struct hm_sites_process process;
    struct hm_sites_block block[MOST_BLOCKS];
} * file;
static char *memory; /* 64 MiB of addresses, nothing of which is touched */

static int setup(void **state)
{
    static struct hm_watched watched;
    (void)state;
    watch = calloc(1, sizeof(*watch));
    file = calloc(1, sizeof(*file));
    memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!watch || !file || memory == MAP_FAILED)
        return -1;
    (void)madvise(memory, 64 * MIB, MADV_NOHUGEPAGE);
    watched = (struct hm_watched){.process = {.pid = getpid()}, .fd = memfd_create("blocks", 0)};
    watch->table = &table;
    watch->watched = &watched;
    watch->n = 1;
    watch->began_ns = 1;
    watch->looked_ns = 1000000001;
    hm_watch_resident_begin(&resident, 1000, 5);
    return watched.fd >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    close(watch->watched[0].fd);
    free(watch->watched[0].now.range);
    free(watch->watched[0].before.range);
    munmap(memory, 64 * MIB);
    free(file);
    free(watch);
    return 0;
}

static struct hm_sites_block *add(uint64_t address, uint64_t bytes, uint32_t entry)
{
    struct hm_sites_block *block = &file->block[file->process.n_blocks++];
    *block = (struct hm_sites_block){.address = address, .bytes = bytes, .entry = entry};
    return block;
}

static bool look(void)
{
    assert_int_equal(pwrite(watch->watched[0].fd, file, sizeof(*file), 0), sizeof(*file));
    watch->looked_ns++;
    file->process.changes++;
    return hm_watch_resident_look(&resident, watch);
}

static uint64_t address(uint64_t bytes)
{
    return (uintptr_t)memory + bytes;
}

static void assert_seen(int site, double bytes, double resident_bytes, uint32_t slices, bool is_whole)
{
    const struct hm_watch_seen *seen = &resident.site[site];
    assert_float_equal(seen->bytes, bytes, 0);
    assert_float_equal(seen->resident_bytes, resident_bytes, 0);
    assert_int_equal(seen->slices, slices);
    assert_int_equal(seen->is_whole, is_whole);
}

/* With PAGEMAP_SCAN, where the kernel has it, and without. What is read alone has the zero page, which is no memory. */
static void test_what_is_touched_is_counted(void **state)
{
    (void)state;
    add(address(0), 8 * MIB, PART);
    add(address(16 * MIB), 8 * MIB, PART)->is_inherited = 1;
    add(address(24 * MIB), 4 * MIB, SHARED)->is_shared = 1;
    add(address(32 * MIB), 2 * MIB, MIXED);
    add(address(40 * MIB) + SMALL, 2 * hm_page_size(), MIXED);
    add(address(48 * MIB), MIB, WHOLE);
    memset(memory + 4 * SLICE, 1, 2 * MIB);
    memset(memory + 16 * MIB, 1, 8 * MIB);
    memset(memory + 32 * MIB, 1, MIB);
    memset(memory + 40 * MIB, 1, hm_page_size());
    memset(memory + 48 * MIB, 1, MIB);
    for (int i = 0; i < 2; i++) {
        resident.has_scan = i == 0;
        assert_true(look());
        assert_seen(PART, 8.0 * MIB, 2.0 * MIB, 0xff0, false);
        assert_seen(SHARED, 4.0 * MIB, 4.0 * MIB, 0, true);
        assert_seen(MIXED, 2.0 * MIB + 2.0 * hm_page_size(), 1.0 * MIB + hm_page_size() - SMALL, 0xffff, true);
        assert_seen(WHOLE, MIB, MIB, UINT32_MAX, false);
    }
    if (resident.has_scan) {
        assert_int_equal(memory[7 * MIB], 0);
        assert_true(look());
        assert_seen(PART, 8.0 * MIB, 2.0 * MIB, 0xff0, false);
    }
    madvise(memory, 8 * MIB, MADV_DONTNEED); /* slices stay, as of any look */
    assert_true(look());
    assert_seen(PART, 8.0 * MIB, 0, 0xff0, false);
}

/* Of much memory a look sees a part, and that is taken for all of it. */
static void test_much_memory_is_looked_at_in_part(void **state)
{
    const uint64_t bytes = UINT64_C(64) << 30;
    (void)state;
    char *much = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (much == MAP_FAILED)
        skip(); /* sanitizers, or a limit */
    (void)madvise(much, bytes, MADV_NOHUGEPAGE);
    for (uint64_t at = 0; at < bytes / 4; at += 512 * hm_page_size())
        much[at] = 1;
    add((uintptr_t)much, bytes, PART);
    assert_true(look());
    double wanted = (double)bytes / 4 / 512;
    assert_float_equal(resident.site[PART].bytes, (double)bytes, 0);
    assert_float_equal(resident.site[PART].resident_bytes, wanted, wanted / 10);
    assert_int_equal(resident.site[PART].slices, 0xff);
    munmap(much, bytes);
}

/* Blocks that a program has made up end a look, which no figure comes of, or take no time. */
static void test_blocks_that_are_none(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        add(4096, (UINT64_C(1) << 63) - 8192, PART);
    add(UINT64_MAX - 8192, 4096, MIXED);
    add(4096, UINT64_MAX, MIXED);
    look();
    assert_true(resident.site[PART].bytes < 0x1p63 && resident.site[MIXED].bytes == 0);
}

/* A process that has ended, and one that the time does not suffice for. */
static void test_looks_that_are_not_made(void **state)
{
    (void)state;
    add(address(0), 8 * MIB, PART);
    memset(memory, 1, MIB);
    assert_true(look());
    watch->watched[0].process.pid = INT32_MAX;
    assert_false(look());
    assert_seen(PART, 8.0 * MIB, MIB, 0xf, false);
    watch->watched[0].process.pid = getpid();
    assert_int_equal(resident.n_looks, 1);
    resident.share = 0;
    assert_false(look());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_touched_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_much_memory_is_looked_at_in_part, setup, teardown),
        cmocka_unit_test_setup_teardown(test_blocks_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_looks_that_are_not_made, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
