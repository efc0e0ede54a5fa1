/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the memory of a process by what it is: how lines are parsed, and ranges added, found and compared. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/watch/maps.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"

static void test_lines_that_are_not_valid(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "\n",
        "7f00-8f00",
        "1000-2000 rw-p",
        "1000-2000 rw-p 00000000 00:00",
        "1000-2000 rw-p 00000000 00:00 ",
        "1000-2000 rw-p 00000000 00:00 x",
        "1000-2000 rw-p 00000000 00:00 0x",
        "1000-2000 rw-p 00000000 0000 0",
        "1000-2000 rw-pp 00000000 00:00 0",
        "1000-2000rw-p 00000000 00:00 0",
        "-2000 rw-p 00000000 00:00 0",
        "1000- rw-p 00000000 00:00 0",
        "1000-2000-3000 rw-p 00000000 00:00 0",
        "2000-1000 rw-p 00000000 00:00 0",
        "1000-1000 rw-p 00000000 00:00 0",
        "1001-2000 rw-p 00000000 00:00 0",
        "1000-2fff rw-p 00000000 00:00 0",
        "1000-10000000000000000 rw-p 00000000 00:00 0",
        "1000-2000 rw-p 10000000000000000 00:00 0",
        "G000-H000 rw-p 00000000 00:00 0",
        "1000-2000 rw-p 00000000 100000000:00 0",
        "1000-2000 rw-p 00000000 00:00 18446744073709551616",
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_mapping mapping = {.range = {7, 7}};
        errno = 0;
        if (hm_maps_parse_line(rows[i], &mapping) != -1)
            fail_msg("\"%s\" was taken", rows[i]);
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(mapping.range.first, 7);
    }
}

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum hm_memory_kind kind;
        struct hm_range range;
    } rows[] = {
        {"7f5c00000000-7f5c00021000 rw-p 00000000 00:00 0 \n", HM_MEMORY_PRIVATE, {0x7f5c00000, 0x21}},
        {"7f5c00000000-7f5c00021000 rw-p 00000000 00:00 0", HM_MEMORY_PRIVATE, {0x7f5c00000, 0x21}},
        {"55d0c5a5e000-55d0c5a7f000 rw-p 00000000 00:00 0  [heap]\n", HM_MEMORY_PRIVATE, {0x55d0c5a5e, 0x21}},
        {"7ffd3a5c1000-7ffd3a5e2000 rw-p 00000000 00:00 0  [stack]\n", HM_MEMORY_PRIVATE, {0x7ffd3a5c1, 0x21}},
        {"1000-2000 r--p 00000000 00:00 0 [anon:arrays of the solver]\n", HM_MEMORY_PRIVATE, {1, 1}},
        {"1000-2000 rwxp 00000000 00:00 0 \n", HM_MEMORY_PRIVATE, {1, 1}},
        /* five-level page tables */
        {"ff00000000000-ff00000001000 rw-p 00000000 00:00 0 \n", HM_MEMORY_PRIVATE, {0xff00000000, 1}},
        {"1000-2000 rw-s 00000000 00:01 1024                       /dev/zero (deleted)\n", HM_MEMORY_FILE, {1, 1}},
        {"1000-2000 rw-s 00000000 00:01 0                          /SYSV00000000 (deleted)\n", HM_MEMORY_FILE, {1, 1}},
        {"1000-2000 rw-p 00000000 00:0f 21                         /anon_hugepage (deleted)\n", HM_MEMORY_FILE, {1, 1}},
        {"1000-2000 rw-s 00000000 00:01 1025                       [anon_shmem:halo]\n", HM_MEMORY_FILE, {1, 1}},
        {"1000-2000 rw-p 0001c000 fe:01 1234                       /usr/lib/libc.so.6\n", HM_MEMORY_FILE, {1, 1}},
        {"1000-2000 ---p 00000000 00:00 0 \n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 ---p 00000000 fe:01 1234 /usr/lib/libc.so.6\n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 rw-p 00000000 00:0e 12   anon_inode:[perf_event]\n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 rw-s 00000000 00:00 0 \n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 r--p 00000000 00:00 0                          [vvar]\n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 r-xp 00000000 00:00 0                          [vdso]\n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 r--p 00000000 00:00 0                          [vvar_vclock]\n", HM_MEMORY_OTHER, {1, 1}},
        {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n",
         HM_MEMORY_OTHER,
         {0xffffffffff600, 1}},
        {"1000-2000 rw-s 00000000 00:00 0 [anon_shmem:x]\n", HM_MEMORY_OTHER, {1, 1}},
        {"1000-2000 rw-p 00000000 00:00 0 [heap]x\n", HM_MEMORY_OTHER, {1, 1}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_mapping mapping;
        if (hm_maps_parse_line(rows[i].line, &mapping) != 0 || mapping.kind != rows[i].kind)
            fail_msg("%s", rows[i].line);
        assert_int_equal(mapping.range.first, rows[i].range.first);
        assert_int_equal(mapping.range.n_pages, rows[i].range.n_pages);
    }
}

static void test_files(void **state)
{
    (void)state;
    struct hm_mapping mapping;
    assert_int_equal(hm_maps_parse_line("1000-3000 r-xs 00005000 fe:1a 77 /home/alice/data (deleted)\n", &mapping), 0);
    assert_int_equal(mapping.offset, 5);
    assert_int_equal(mapping.device, UINT64_C(0xfe0000001a));
    assert_int_equal(mapping.inode, 77);
    assert_true(mapping.is_shared && mapping.is_code);
    assert_int_equal(hm_maps_parse_line("1000-3000 rw-p 00005000 fe:1a 77 /home/alice/data\n", &mapping), 0);
    assert_false(mapping.is_shared || mapping.is_code);
    assert_int_equal(hm_maps_parse_line("1000-3000 rw-s 00000000 00:01 77 /SYSV00000000 (deleted)\n", &mapping), 0);
    assert_false(mapping.is_code);
    assert_int_not_equal(mapping.inode, 77); /* the segment's number, and not that of a file on the same device */
    assert_int_equal(hm_maps_parse_line("1000-3000 rwxs 00000000 00:01 0 /SYSV00000000 (deleted)\n", &mapping), 0);
    assert_true(mapping.is_code);
}

static void test_large_pages(void **state)
{
    (void)state;
    struct hm_mapping mapping;
    page_shift = SHIFT_64K;
    assert_int_equal(hm_maps_parse_line("ffff80010000-ffff80030000 rw-p 00000000 00:00 0 \n", &mapping), 0);
    assert_int_equal(mapping.range.first, 0xffff8001);
    assert_int_equal(mapping.range.n_pages, 2);
    assert_int_equal(hm_maps_parse_line("ffff80010000-ffff80031000 rw-p 00000000 00:00 0 \n", &mapping), -1);
    page_shift = SHIFT_4K;
}

static void fill(struct hm_maps *maps, const struct hm_range *ranges, size_t count)
{
    *maps = (struct hm_maps){.n = 0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(hm_maps_add(maps, ranges[i]), 0);
}

static const struct hm_range three[] = {{10, 10}, {30, 5}, {50, 100}};

static void test_add(void **state)
{
    (void)state;
    struct hm_maps maps;
    fill(&maps, three, 3);
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){150, 10}), 0); /* touches the last range */
    assert_int_equal(maps.n, 3);
    assert_int_equal(maps.range[2].n_pages, 110);
    assert_int_equal(maps.n_pages, 125);
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){159, 10}), -1);
    assert_int_equal(errno, EINVAL);
    for (uint64_t i = 3; i < HM_MAPS_RANGES; i++)
        assert_int_equal(hm_maps_add(&maps, (struct hm_range){1000 * i, 1}), 0);
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){UINT64_C(1) << 45, 1}), -1);
    assert_int_equal(errno, ENOSPC);
    hm_maps_free(&maps);
    maps.most = 1; /* ranges that touch are joined, so they count as one */
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){10, 1}), 0);
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){11, 1}), 0);
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){13, 1}), -1);
    assert_int_equal(errno, ENOSPC);
    hm_maps_free(&maps);
}

static void test_find_and_count(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, n_pages;
        size_t index;
        uint64_t count;
    } rows[] = {
        {0, 10, 0, 0},   {0, 11, 0, 1},  {0, 1000, 0, 115}, {10, 10, 0, 10}, {19, 1, 0, 1},  {20, 10, 1, 0},
        {15, 20, 0, 10}, {34, 17, 1, 2}, {35, 1, 2, 0},     {149, 5, 2, 1},  {150, 5, 3, 0}, {12, 0, 0, 0},
    };
    struct hm_maps maps;
    fill(&maps, three, 3);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(hm_maps_find(&maps, rows[i].first), rows[i].index);
        assert_int_equal(hm_maps_count(&maps, rows[i].first, rows[i].n_pages), rows[i].count);
    }
    hm_maps_free(&maps);
}

static struct hm_range gone[8];
static size_t n_gone;

static void note(void *data, struct hm_range range)
{
    assert_ptr_equal(data, gone);
    gone[n_gone++] = range;
}

static void test_compare(void **state)
{
    (void)state;
    static const struct {
        struct hm_range now[4], gone[4];
        size_t n, n_gone;
    } rows[] = {
        {{{10, 10}, {30, 5}, {50, 100}}, {{0, 0}}, 3, 0},
        {{{10, 25}, {50, 100}, {500, 7}}, {{0, 0}}, 3, 0}, /* nothing is gone */
        {{{0, 0}}, {{10, 10}, {30, 5}, {50, 100}}, 0, 3},
        {{{12, 3}, {60, 10}, {80, 200}}, {{10, 2}, {15, 5}, {30, 5}, {50, 10}}, 3, 5}, /* the fifth is 70 to 79 */
        {{{1, 9}, {20, 10}, {35, 15}, {150, 5}}, {{10, 10}, {30, 5}, {50, 100}}, 4, 3},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_maps before, now;
        fill(&before, three, 3);
        fill(&now, rows[i].now, rows[i].n);
        n_gone = 0;
        hm_maps_compare(&before, &now, note, gone);
        assert_int_equal(n_gone, rows[i].n_gone);
        for (size_t k = 0; k < n_gone && k < 4; k++) {
            assert_int_equal(gone[k].first, rows[i].gone[k].first);
            assert_int_equal(gone[k].n_pages, rows[i].gone[k].n_pages);
        }
        hm_maps_free(&before);
        hm_maps_free(&now);
    }
}

static struct hm_mapped piece(uint64_t first, uint64_t n_pages, enum hm_memory_kind kind, bool may_move, bool is_alias)
{
    return (struct hm_mapped){.range = {first, n_pages}, .kind = kind, .may_move = may_move, .is_alias = is_alias};
}

static void test_mapped(void **state)
{
    (void)state;
    struct hm_maps maps = {.n = 0}, all = {.n = 0};
    const struct hm_mapped pieces[] = {
        piece(1, 9, HM_MEMORY_PROGRAM, false, false), piece(10, 5, HM_MEMORY_PROGRAM, false, false),
        piece(20, 5, HM_MEMORY_SHARED, true, true),   piece(25, 5, HM_MEMORY_SHARED, true, false),
        piece(40, 5, HM_MEMORY_SHARED, true, true),
    };
    assert_ptr_equal(hm_maps_with_aliases(&maps, &all), &maps);
    for (size_t i = 0; i < N_ROWS(pieces); i++)
        assert_int_equal(hm_maps_add_mapped(&maps, &pieces[i]), 0);
    assert_int_equal(hm_maps_add_mapped(&maps, &pieces[4]), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hm_maps_add(&maps, (struct hm_range){50, 10}), 0);
    assert_int_equal(maps.n_mapped, 4); /* what cannot be moved is joined */
    assert_int_equal(maps.n_aliases, 2);
    assert_int_equal(maps.n_pages, 15);
    assert_int_equal(hm_maps_kind(&maps, 14), HM_MEMORY_PROGRAM);
    assert_int_equal(hm_maps_kind(&maps, 15), HM_MEMORY_OTHER);
    assert_int_equal(hm_maps_kind(&maps, 24), HM_MEMORY_SHARED);
    assert_int_equal(hm_maps_kind(&maps, 55), HM_MEMORY_PRIVATE);
    assert_null(hm_maps_mapped(&maps, 55));
    assert_ptr_equal(hm_maps_with_aliases(&maps, &all), &all);
    assert_int_equal(all.n, 3);
    assert_int_equal(all.range[0].first, 20);
    assert_int_equal(all.range[0].n_pages, 10);
    assert_int_equal(all.range[1].first, 40);
    assert_int_equal(all.n_pages, 25);
    hm_maps_free(&all);
    hm_maps_free(&maps);
}

static void test_too_many_mapped(void **state)
{
    (void)state;
    struct hm_maps maps = {.n = 0};
    for (uint64_t i = 0; i < HM_MAPS_MAPPED; i++) {
        struct hm_mapped one = piece(2 * i, 1, HM_MEMORY_FILE, false, false);
        assert_int_equal(hm_maps_add_mapped(&maps, &one), 0);
    }
    struct hm_mapped last = piece(UINT64_C(1) << 40, 1, HM_MEMORY_FILE, true, false);
    assert_int_equal(hm_maps_add_mapped(&maps, &last), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(maps.n, 0);
    hm_maps_free(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_that_are_not_valid),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_large_pages),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_find_and_count),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_too_many_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
