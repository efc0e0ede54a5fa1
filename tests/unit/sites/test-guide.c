/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the table of a guided program, and the choice of its sites. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/hybridmem.h"
#include "alloc/preload.h"
#include "sites/guide/choose.h"
#include "sites/guide/limit.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)
#define STENCIL FIXTURES "/sites/stencil.json"
#define IDS 3

static const struct hm_layout layout = {
    .n_nodes = 3, .node = {{.id = 0, .socket = 0, .is_fast = true}, {.id = 2, .socket = -1}, {.id = 3, .socket = 1}}};

static const struct {
    const char *text;
    int n; /* -1: it is wrong */
} texts[] = {
    {"fast=0 slow=1 sites=", 0},
    {"fast=0 slow=1 sites=0000000000000001,0000000000000005,ffffffffffffffff", 3},
    {" sites=0000000000000001", 1},
    {"fast=0 slow=1 sites=0000000000000001,", -1},
    {"fast=0 slow=1 sites=,0000000000000001", -1},
    {"fast=0 slow=1 sites=000000000000001", -1},
    {"fast=0 slow=1 sites=00000000000000001", -1},
    {"fast=0 slow=1 sites=000000000000000A", -1},
    {"fast=0 slow=1 sites=0000000000000001 ", -1},
    {"fast=0 slow=1 sites=0000000000000002,0000000000000001", -1},
    {"fast=0 slow=1 sites=0000000000000001,0000000000000001", -1},
    {"fast=0 slow=1", -1},
    {"", -1},
    {"fast=0 slow=1 program=0a least=4096 sites=0000000000000001", 1},
    {"fast=0 slow=1 program=0123456789abcdef0123456789abcdef01234567 sites=", 0},
    {"fast=0 slow=1 program=0123456789abcdef0123456789abcdef012345678 sites=", -1},
    {"fast=0 slow=1 least=131071 sites=", 0},
    {"fast=0 slow=1 least=131072 sites=", -1}, /* this is what is not said */
    {"fast=0 slow=1 least=131073 sites=", -1},
    {"fast=0 slow=1 least=04096 sites=", -1},
    {"fast=0 slow=1 least=-4096 sites=", -1},
    {"fast=0 slow=1 least=1000000 sites=", -1},
    {"fast=0 slow=1 least= sites=", -1},
    {"fast=0 slow=1 program= sites=", -1},
    {"fast=0 slow=1 program=0A sites=", -1},
    {"fast=0 slow=1 least=4096 program=0a sites=", -1},
    {"fast=0 slow=1 program=0a least=4096 limit=18446744073709551615 sites=0000000000000001", 1},
    {"fast=0 slow=1 limit=18446744073709551616 sites=", -1},
    {"fast=0 slow=1 limit=0 sites=", -1}, /* it is not said where there is none */
    {"fast=0 slow=1 limit= sites=", -1},
    {"fast=0 slow=1 limit=-1 sites=", -1},
    {"fast=0 slow=1 limit=1M sites=", -1},
    {"fast=0 slow=1 limit=1 least=4096 sites=", -1},
    {"fast=0 slow=1 limit=8 limited=0000000000000001:7 sites=0000000000000001", 1},
    {"fast=0 slow=1 limited=0000000000000001:7 limit=8 sites=0000000000000001", -1},
    {"fast=0 slow=1 limit=8 limited=0000000000000001:0 sites=0000000000000001", -1},
    {"fast=0 slow=1 limit=8 limited=0000000000000001: sites=0000000000000001", -1},
    {"fast=0 slow=1 limit=8 limited=0000000000000001 sites=0000000000000001", -1},
    {"fast=0 slow=1 limit=8 limited=7 sites=0000000000000001", -1},
    {"fast=0 slow=1 limit=8 limited=000000000000000A:7 sites=0000000000000001", -1},
    {"fast=0 slow=1 parts=0000000000000001:65536:0000000c sites=0000000000000001", 1},
    {"fast=0 slow=1 limit=8 limited=0000000000000001:7 parts=00000000000000b2:0:ffffff00,00000000000000c3:1:80000000 "
     "sites=0000000000000001",
     1},
    {"fast=0 slow=1 parts= sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:65536:0000000c, sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:65536:00000000 sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:065536:0000000c sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:00:0000000c sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:1:000000c sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:1:0000000c0 sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:1:0000000C sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001::0000000c sites=", -1},
    {"fast=0 slow=1 parts=1:1:0000000c sites=", -1},
    {"fast=0 slow=1 parts=0000000000000001:1:0000000c,0000000000000001:1:0000000c sites=", -1},
};

static void test_tables(void **state)
{
    static struct hm_guide_table table;
    static char again[HM_GUIDE_TEXT];
    (void)state;
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        assert_int_equal(hm_guide_parse(texts[i].text, &table), texts[i].n < 0 ? -1 : 0);
        if (texts[i].n < 0)
            continue;
        assert_int_equal(table.n_ids, texts[i].n);
        hm_guide_format(&table, again);
        assert_string_equal(again, texts[i].text);
    }
    assert_int_equal(hm_guide_parse(texts[1].text, &table), 0);
    assert_true(hm_guide_has(&table, 1) && hm_guide_has(&table, 5) && hm_guide_has(&table, UINT64_MAX));
    assert_false(hm_guide_has(&table, 0) || hm_guide_has(&table, 2) || hm_guide_has(&table, 6));
}

static void test_large_tables(void **state)
{
    static struct hm_guide_table table, again;
    static char text[HM_GUIDE_TEXT + 18], text_again[HM_GUIDE_TEXT];
    (void)state;
    memset(table.nodes, 'x', sizeof(table.nodes) - 1);
    memset(table.program, 'a', sizeof(table.program) - 1);
    table.least_bytes = 99999;
    table.limit_bytes = table.limited = table.limited_bytes = UINT64_MAX;
    for (table.n_parts = 0; table.n_parts < HM_GUIDE_PARTS; table.n_parts++)
        table.part[table.n_parts] = (struct hm_guide_part){UINT64_MAX - table.n_parts, UINT64_MAX, UINT32_MAX};
    for (table.n_ids = 0; table.n_ids < HM_GUIDE_SITES; table.n_ids++)
        table.id[table.n_ids] = UINT64_MAX - HM_GUIDE_SITES + table.n_ids;
    hm_guide_format(&table, text);
    assert_int_equal(hm_guide_parse(text, &again), 0);
    hm_guide_format(&again, text_again);
    assert_string_equal(text_again, text);
    memcpy(text + strlen(text), ",ffffffffffffffff", sizeof(",ffffffffffffffff")); /* one too many */
    assert_int_equal(hm_guide_parse(text, &again), -1);
}

static void test_nodes(void **state)
{
    static struct hm_layout large = {.n_nodes = HM_ALLOC_NODES}, read;
    char text[HM_GUIDE_NODES];
    (void)state;
    assert_int_equal(hm_guide_write_nodes(&layout, text), 0);
    assert_string_equal(text, "fast=0@0 slow=2,3@1");
    assert_int_equal(hm_preload_parse_nodes(text, &read, NULL), 0);
    assert_int_equal(read.n_nodes, 3);
    for (int i = 0; i < HM_ALLOC_NODES; i++)
        large.node[i] = (struct hm_layout_node){.id = i, .socket = i, .is_fast = i % 2};
    assert_int_equal(hm_guide_write_nodes(&large, text), 0);
    assert_int_equal(hm_preload_parse_nodes(text, &read, NULL), 0);
    assert_int_equal(read.n_nodes, HM_ALLOC_NODES);
    for (int i = 0; i < HM_ALLOC_NODES; i++)
        large.node[i] = (struct hm_layout_node){.id = 1000000000, .socket = 1000000000};
    assert_int_equal(hm_guide_write_nodes(&large, text), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

static const struct {
    const char *packer;
    uint64_t capacity, fast;
    double share;
    size_t n;
    uint64_t id[IDS];
} rows[] = {
    {"knapsack", 25 * MIB, 10 * MIB, 0.4, 1, {0xa1}},
    {"knapsack", 50 * MIB, 50 * MIB, 0.75, 2, {0xa1, 0xb2}},
    {"hotset", 25 * MIB, 50 * MIB, 0.21875, 2, {0xa1, 0xb2}},
    {"thermos", 0, 0, 0, 0, {0}},
    {"gain", 50 * MIB, 50 * MIB, 0.75, 2, {0xa1, 0xb2}},
    {"gain", 25 * MIB, 25 * MIB, 0.53125, 2, {0xa1, 0xb2}}, /* the second has what the first leaves */
};

static struct hm_guide_choice choice;

static void test_choices(void **state)
{
    struct hm_error error = {""};
    struct hm_profile *profile = hm_profile_read(STENCIL, &error);
    (void)state;
    assert_non_null(profile);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        choice.packer = hm_packer_find(rows[i].packer, &error);
        choice.capacity_bytes = rows[i].capacity;
        assert_int_equal(hm_guide_choose(profile, STENCIL, &layout, &choice, &error), 0);
        assert_string_equal(choice.table.nodes, "fast=0@0 slow=2,3@1");
        assert_int_equal(choice.table.n_ids, rows[i].n);
        assert_int_equal(choice.table.limit_bytes, rows[i].capacity); /* also where the sites would have more */
        bool is_limited = strcmp(rows[i].packer, "gain") == 0 && rows[i].capacity == 25 * MIB;
        assert_int_equal(choice.table.limited_bytes, is_limited ? 15 * MIB : 0);
        assert_int_equal(choice.table.limited, is_limited ? 0xb2 : 0);
        for (size_t j = 0; j < rows[i].n; j++)
            assert_true(hm_guide_has(&choice.table, rows[i].id[j]));
        assert_int_equal(choice.fast_bytes, rows[i].fast);
        assert_float_equal(choice.expected_share, rows[i].share, 1e-6);
    }
    hm_profile_free(profile);
}

/* What a size class needs: its accesses, arenas, and that all of it is small, in a program that can be told apart. */
static const struct {
    bool has_accesses, has_arenas, has_id;
    uint64_t class_bytes;
    bool is_chosen;
} classes[] = {
    {true, true, true, 64, true},      {true, true, true, 4096, true}, {false, true, true, 64, false},
    {true, false, true, 64, false},    {true, true, false, 64, false}, {true, true, true, 8192, false},
    {true, true, true, 524288, false},
};

static void test_size_classes(void **state)
{
    struct hm_error error = {""};
    struct hm_profile *profile = hm_profile_read(STENCIL, &error);
    (void)state;
    assert_non_null(profile);
    char *build_id = profile->build_id;
    struct hm_profile_site *small = &profile->site[profile->n_sites - 1];
    assert_true(small->class_bytes > 0 && build_id);
    assert_int_equal(profile->least_bytes, 4096);
    choice.packer = hm_packer_at(0);
    choice.capacity_bytes = UINT64_MAX;
    for (size_t i = 0; i < N_ROWS(classes); i++) {
        small->class_bytes = classes[i].class_bytes;
        small->reads = classes[i].has_accesses ? 1000 : NAN;
        small->writes = 0;
        profile->build_id = classes[i].has_id ? build_id : NULL;
        choice.has_arenas = classes[i].has_arenas;
        assert_int_equal(hm_guide_choose(profile, STENCIL, &layout, &choice, &error), 0);
        assert_int_equal(hm_guide_has(&choice.table, small->id), classes[i].is_chosen);
        assert_string_equal(choice.table.program, classes[i].is_chosen ? build_id : "");
        assert_int_equal(choice.table.least_bytes, HM_ALLOC_LEAST);
    }
    choice.has_arenas = false;
    profile->build_id = build_id;
    hm_profile_free(profile);
}

/* Blocks of a site, from what the profile has of it: the run took 10 s. */
static const struct {
    uint64_t allocations, peak_bytes;
    double mean_bytes, lifetime_s; /* NaN: not measured */
    double block;
} blocks[] = {
    {1, 10 * MIB, 5 * MIB, 5, 10 * MIB},       /* half of the time */
    {1, 10 * MIB, 10 * MIB, 9, 10 * MIB},      /* times that are not exact */
    {10, 10 * MIB, 10 * MIB, 10, MIB},         /* ten together */
    {10, MIB, MIB, 1, MIB},                    /* one after another */
    {1000000, 100 * MIB, 65536, 0.01, 65.536}, /* many small ones */
    {1, 130000, 65000, 5, 130000},             /* too small */
    {1, 131000, 65500, 5, 131000},             /* too small by no more than a mean is rounded */
    {10, 10 * MIB, 10 * MIB, NAN, MIB},        /* no lifetime */
    {10, 10 * MIB, 0, 0, MIB},                 /* too short for a time */
    {0, 10 * MIB, 10 * MIB, 10, 0},
};

static void test_without_arenas_only_sites_whose_blocks_are_large_are_chosen(void **state)
{
    struct hm_profile_site site = {.id = 0xa1, .reads = 10, .writes = 0};
    const struct hm_profile profile = {
        .elapsed_s = 10, .least_bytes = 4096, .n_sites = 1, .site = &site, .elsewhere = 10};
    struct hm_error error = {""};
    (void)state;
    choice.packer = hm_packer_at(0);
    choice.capacity_bytes = UINT64_MAX;
    for (size_t i = 0; i < 2 * N_ROWS(blocks); i++) {
        size_t row = i / 2;
        bool is_large = blocks[row].block >= HM_ALLOC_LEAST, is_nearly = blocks[row].block == 131000;
        choice.has_arenas = i % 2;
        bool is_chosen = choice.has_arenas ? blocks[row].allocations > 0 : is_large || is_nearly;
        site.allocations = blocks[row].allocations;
        site.peak_bytes = blocks[row].peak_bytes;
        site.mean_bytes = blocks[row].mean_bytes;
        site.lifetime_s = blocks[row].lifetime_s;
        assert_float_equal(hm_guide_block_bytes(&profile, &site), blocks[row].block, 1e-6);
        assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
        assert_int_equal(choice.table.n_ids, is_chosen);
        assert_int_equal(choice.table.least_bytes, is_nearly ? 130940 : is_chosen && !is_large ? 4096 : HM_ALLOC_LEAST);
        assert_int_equal(choice.fast_bytes, is_chosen ? site.peak_bytes : 0);
        assert_float_equal(choice.expected_share, is_chosen ? 0.5 : 0, 1e-9);
    }
    choice.has_arenas = false;
}

/* As in a plan: sites that follow each other have the same room. */
static void test_sites_that_follow_each_other_share_the_room(void **state)
{
    struct hm_profile_site site[2] = {
        {.id = 1, .allocations = 1, .peak_bytes = MIB, .mean_bytes = MIB / 2, .lifetime_s = 5, .reads = 10},
        {.id = 2, .allocations = 1, .peak_bytes = MIB, .mean_bytes = MIB / 2, .lifetime_s = 5, .reads = 10}};
    const struct hm_profile profile = {.elapsed_s = 10, .n_sites = 2, .site = site, .elsewhere = 0};
    struct hm_error error = {""};
    (void)state;
    for (int i = 0; i < HM_PROFILE_PARTS; i++)
        site[i >= HM_PROFILE_PARTS / 2].series[i] = MIB;
    site[0].has_series = site[1].has_series = true;
    choice.packer = hm_packer_at(0);
    choice.capacity_bytes = MIB;
    assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
    assert_int_equal(choice.table.n_ids, 2);
    assert_int_equal(choice.fast_bytes, MIB);
    assert_float_equal(choice.expected_share, 1, 1e-9);
}

static struct hm_limit limit;

/* All, a part where that is large enough, or nothing; and never more than there is. */
static void test_limits(void **state)
{
    (void)state;
    limit = (struct hm_limit){.most_bytes = 100};
    assert_int_equal(hm_limit_take(&limit, 60, 60), 60);
    assert_int_equal(hm_limit_take(&limit, 41, 41), 0);
    assert_int_equal(hm_limit_take(&limit, 80, 41), 0);
    assert_int_equal(hm_limit_take(&limit, 80, 10), 40);
    assert_int_equal(hm_limit_take(&limit, 1, 1), 0);
    hm_limit_add(&limit, 50); /* a block is moved to a larger one */
    assert_int_equal(hm_limit_take(&limit, 1, 1), 0);
    hm_limit_give(&limit, 50);
    hm_limit_give(&limit, 40);
    assert_int_equal(hm_limit_take(&limit, UINT64_MAX, 1), 40);
    limit = (struct hm_limit){.most_bytes = UINT64_MAX};
    assert_int_equal(hm_limit_take(&limit, UINT64_MAX, UINT64_MAX), UINT64_MAX);
    assert_int_equal(hm_limit_take(&limit, 1, 1), 1);
}

static const void *at(uint64_t page)
{
    return (const void *)(uintptr_t)(page << 12);
}

/* Mappings count until they are unmapped, at once or in parts. */
static void test_limited_mappings(void **state)
{
    (void)state;
    limit = (struct hm_limit){.most_bytes = 10 << 12};
    assert_int_equal(hm_limit_map(&limit, at(100), 7 << 12), HM_LIMIT_TAKEN);
    assert_int_equal(hm_limit_map(&limit, at(200), 4 << 12), HM_LIMIT_NO_ROOM);
    assert_int_equal(hm_limit_map(&limit, at(200), (2 << 12) + 1), HM_LIMIT_TAKEN);
    assert_int_equal(hm_limit_unmap(&limit, at(50), 50 << 12), 0);
    assert_int_equal(hm_limit_unmap(&limit, at(102), 3 << 12), 3 << 12);
    assert_int_equal(hm_limit_unmap(&limit, at(102), 3 << 12), 0);
    assert_int_equal(hm_limit_unmap(&limit, at(106), 95 << 12), 2 << 12);
    hm_limit_note(&limit, at(300), 9 << 12); /* as it has grown */
    assert_int_equal(hm_limit_take(&limit, 1, 1), 0);
    assert_int_equal(hm_limit_unmap(&limit, at(0), SIZE_MAX >> 1), 14 << 12);
    assert_int_equal(hm_limit_take(&limit, UINT64_MAX, 1), 10 << 12);
}

/* What is taken out is told in its order, whichever was noted first. */
static void test_ranges_of_mappings(void **state)
{
    (void)state;
    struct hm_limit_ranges ranges = {0};
    limit = (struct hm_limit){.most_bytes = 20 << 12};
    assert_int_equal(hm_limit_map(&limit, at(108), 4 << 12), HM_LIMIT_TAKEN);
    assert_int_equal(hm_limit_map(&limit, at(104), 1 << 12), HM_LIMIT_TAKEN);
    assert_int_equal(hm_limit_map(&limit, at(98), 4 << 12), HM_LIMIT_TAKEN);
    assert_int_equal(hm_limit_take_out(&limit, at(100), 10 << 12, &ranges), 5 << 12);
    const size_t wanted[][2] = {{0, 2 << 12}, {4 << 12, 5 << 12}, {8 << 12, 10 << 12}};
    assert_int_equal(ranges.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ranges.range[i].from, wanted[i][0]);
        assert_int_equal(ranges.range[i].to, wanted[i][1]);
    }
    assert_int_equal(hm_limit_take(&limit, UINT64_MAX, 1), 16 << 12);
}

/* What cannot be noted is not placed, and nothing of it is missing later. */
static void test_many_mappings(void **state)
{
    (void)state;
    limit = (struct hm_limit){.most_bytes = UINT64_MAX - 1};
    for (uint64_t i = 0; i < HM_LIMIT_MAPPINGS; i++)
        assert_int_equal(hm_limit_map(&limit, at(1 + 4 * i), 3 << 12), HM_LIMIT_TAKEN);
    assert_int_equal(hm_limit_map(&limit, at(1000000), 1), HM_LIMIT_NO_SLOT);
    assert_int_equal(hm_limit_unmap(&limit, at(2), 1 << 12), 2 << 12); /* its end finds no slot */
    assert_int_equal(hm_limit_unmap(&limit, at(0), SIZE_MAX >> 1), (3 * HM_LIMIT_MAPPINGS - 2) << 12);
    assert_int_equal(hm_limit_map(&limit, at(1), UINT64_C(1) << 41), HM_LIMIT_NO_ROOM);
    assert_int_equal(hm_limit_take(&limit, UINT64_MAX - 1, UINT64_MAX - 1), UINT64_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_large_tables),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_limited_mappings),
        cmocka_unit_test(test_ranges_of_mappings),
        cmocka_unit_test(test_many_mappings),
        cmocka_unit_test(test_size_classes),
        cmocka_unit_test(test_without_arenas_only_sites_whose_blocks_are_large_are_chosen),
        cmocka_unit_test(test_sites_that_follow_each_other_share_the_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
