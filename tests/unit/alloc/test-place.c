/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which block of an allocation goes where, on small machines. alloc/place.h says what spots and lanes are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/layout.h"
#include "core/config/config.h"
#include "unit/lib/machines.h"
#include "unit/lib/rows.h"

#define BLOCK 10
#define MOST 256
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

static void test_block_bytes(void **state)
{
    static const struct {
        uint64_t bytes, wanted, block;
    } rows[] = {
        {1, 0, 2 * MIB},
        {128 * KIB, 0, 2 * MIB},
        {512 * MIB, 0, 2 * MIB},
        {513 * MIB, 0, 4 * MIB}, /* a 256th, rounded up */
        {GIB, 0, 4 * MIB},
        {TIB, 0, 4 * GIB},
        {GIB, 1, 256 * KIB}, /* no more than 4096 blocks */
        {64 * MIB, 1, 16 * KIB},
        {64 * MIB, 20 * KIB, 20 * KIB},
        {64 * MIB, 20 * KIB + 1, 24 * KIB},
        {64 * MIB, 3 * MIB, 4 * MIB}, /* blocks as large as a huge page are whole huge pages */
        {5 * MIB, TIB, 6 * MIB},
        {5 * MIB, UINT64_MAX, 6 * MIB},
        {INT64_MAX, 0, (INT64_MAX / 256 / (2 * MIB) + 1) * 2 * MIB},
        {16 * TIB, 2 * MIB, 4 * GIB},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t block = hm_place_block_bytes(rows[i].bytes, rows[i].wanted, 4 * KIB, 2 * MIB);
        assert_int_equal(block, rows[i].block);
        assert_true((rows[i].bytes - 1) / block + 1 <= HM_ALLOC_MOST_BLOCKS);
    }
}

/* List the places of all blocks: "0 1 f0" is node 0, node 1 and folder 0. */
static void list(const struct hm_place *place, const struct hm_alloc_run *run, size_t n_runs, char *out, size_t size)
{
    uint64_t offset = 0;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n_runs; i++) {
        assert_int_equal(run[i].offset, offset);
        assert_true(run[i].bytes > 0);
        assert_true((run[i].node >= 0) != (run[i].folder >= 0));
        if (i > 0)
            assert_true(run[i].node != run[i - 1].node || run[i].folder != run[i - 1].folder);
        for (uint64_t at = 0; at < run[i].bytes; at += BLOCK)
            used += (size_t)snprintf(out + used, size - used, "%s%s%d", used ? " " : "", run[i].folder >= 0 ? "f" : "",
                                     run[i].folder >= 0 ? run[i].folder : run[i].node);
        offset += run[i].bytes;
    }
    assert_int_equal(offset, place->bytes);
}

struct row {
    const char *machine;
    enum hm_alloc_policy policy;
    struct hm_alloc_hint hint;
    uint64_t room[MOST / 32]; /* by node, in blocks */
    uint64_t folder_room[4];
    int n_folders;
    const char *allowed;
    int blocks, first_lane;
    const char *wanted;  /* the place of each block, as list() writes it; NULL: nothing can be placed */
    int moved, overflow; /* numbers of blocks */
    const char *reason;  /* a part of the reason; "": none */
};

#define READ                                                                                                           \
    {                                                                                                                  \
        .use = HM_ALLOC_READ_MOSTLY                                                                                    \
    }
#define WRITE                                                                                                          \
    {                                                                                                                  \
        .use = HM_ALLOC_WRITE_INTENSIVE                                                                                \
    }
#define SHARE(share)                                                                                                   \
    {                                                                                                                  \
        .fast_share = (share)                                                                                          \
    }
#define MUCH                                                                                                           \
    {                                                                                                                  \
        99, 99, 99, 99, 99, 99, 99, 99                                                                                 \
    }

static const struct row rows[] = {
    /* no node is allowed, or there is only one tier */
    {"optane", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "", 2, 0, NULL, 0, 0, "no node of the slow tier"},
    {"one", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-7", 4, 0, "0 1 0 1", 0, 0, "one tier"},
    {"one", HM_ALLOC_SLOW, READ, MUCH, {0}, 0, "0-7", 4, 0, "0 1 0 1", 0, 0, "one tier"},
    /* the cpuset hides a tier, or a socket */
    {"optane", HM_ALLOC_FAST, READ, MUCH, {0}, 0, "2-3", 4, 0, "2 3 2 3", 0, 0, "no node of the fast tier"},
    {"optane", HM_ALLOC_SLOW, READ, MUCH, {0}, 0, "0-1", 4, 0, "0 1 0 1", 0, 0, "no node of the slow tier"},
    {"optane", HM_ALLOC_SPILL, READ, {2, 9, 2, 9}, {0}, 0, "0,2", 5, 0, "0 0 2 2 0", 2, 1, ""},
    /* spill: the sockets in turn; when a socket's fast node is full, its slow node */
    {"optane", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-3", 4, 0, "0 1 0 1", 0, 0, ""},
    {"optane", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-3", 4, 1, "1 0 1 0", 0, 0, ""},
    {"optane", HM_ALLOC_SPILL, READ, {2, 1, 9, 9}, {0}, 0, "0-3", 8, 0, "0 1 0 3 2 3 2 3", 5, 0, ""},
    {"optane", HM_ALLOC_SPILL, READ, {0, 0, 9, 9}, {0}, 0, "0-3", 3, 0, "2 3 2", 3, 0, ""},
    {"optane", HM_ALLOC_SPILL, READ, {4, 0, 0, 1}, {0}, 0, "0-3", 5, 0, "0 3 0 0 0", 2, 0, ""},
    {"optane", HM_ALLOC_SPILL, READ, {1, 1, 1, 1}, {0}, 0, "0-3", 6, 0, "0 1 2 3 0 1", 2, 2, ""},
    {"unknown", HM_ALLOC_SPILL, READ, {1, 1, 9, 9}, {0}, 0, "0-3", 4, 0, "0 1 2 3", 2, 0, ""},
    /* in each lane, blocks in the ratio of the bandwidths of the tiers, which have channels of their own; or by the
     * hint's fast_share */
    {"cxl", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-2", 8, 0, "2 2 0 1 0 1 0 1", 0, 0, ""},
    {"cxl-unknown", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-2", 4, 0, "0 1 0 1", 0, 0, ""},
    {"even", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-1", 6, 0, "1 0 1 0 1 0", 0, 0, ""},
    {"even", HM_ALLOC_SPILL, READ, {1, 9}, {0}, 0, "0-1", 6, 0, "1 0 1 1 1 1", 2, 0, ""},
    {"hbm", HM_ALLOC_SPILL, READ, MUCH, {0}, 0, "0-3", 8, 0, "0 1 2 3 2 3 2 3", 0, 0, ""},
    {"optane", HM_ALLOC_SPILL, SHARE(.5), MUCH, {0}, 0, "0-3", 8, 0, "2 3 0 1 2 3 0 1", 0, 0, ""},
    {"cxl", HM_ALLOC_SPILL, SHARE(1), MUCH, {0}, 0, "0-2", 4, 0, "0 1 0 1", 0, 0, ""},
    /* fast and slow, and what does not fit */
    {"optane", HM_ALLOC_FAST, READ, {1, 9, 9, 9}, {0}, 0, "0-3", 4, 0, "0 1 2 1", 1, 0, ""},
    {"hbm", HM_ALLOC_FAST, READ, MUCH, {0}, 0, "0-3", 4, 0, "2 3 2 3", 0, 0, ""},
    {"optane", HM_ALLOC_SLOW, READ, {9, 9, 1, 9}, {0}, 0, "0-3", 4, 0, "2 3 0 3", 1, 0, ""},
    {"cxl", HM_ALLOC_SLOW, READ, MUCH, {0}, 0, "0-2", 4, 0, "2 2 2 2", 0, 0, ""},
    {"memoryless", HM_ALLOC_SPILL, SHARE(1), {1, 0, 9}, {0}, 0, "0-2", 3, 0, "0 2 2", 2, 0, ""},
    /* middle tiers get no blocks; interleave: the nodes of the fast and the slow tier in turn */
    {"three", HM_ALLOC_SPILL, SHARE(1), {9, 9, 1, 1, 9, 9}, {0}, 0, "0-5", 4, 0, "2 3 4 5", 2, 0, ""},
    {"three", HM_ALLOC_INTERLEAVE, READ, MUCH, {0}, 0, "0-5", 5, 0, "2 3 4 5 2", 0, 0, ""},
    {"optane", HM_ALLOC_INTERLEAVE, READ, MUCH, {0}, 0, "0-3", 6, 2, "2 3 0 1 2 3", 0, 0, ""},
    {"optane", HM_ALLOC_INTERLEAVE, READ, {9, 9, 1, 9}, {0}, 0, "0-3", 8, 0, "0 1 2 3 0 1 3 3", 1, 0, ""},
    /* split: by use; with folders, what is mostly read goes into their files */
    {"optane", HM_ALLOC_SPLIT, READ, MUCH, {0}, 0, "0-3", 4, 0, "2 3 2 3", 0, 0, ""},
    {"optane", HM_ALLOC_SPLIT, READ, {9, 9, 1, 1}, {0}, 0, "0-3", 4, 0, "2 3 0 1", 2, 0, ""},
    {"optane", HM_ALLOC_SPLIT, WRITE, MUCH, {9, 9}, 2, "0-3", 4, 0, "0 1 0 1", 0, 0, ""},
    {"optane", HM_ALLOC_SPLIT, WRITE, {1, 1, 9, 9}, {0}, 0, "0-3", 4, 0, "0 1 2 3", 2, 0, ""},
    {"optane", HM_ALLOC_SPLIT, READ, MUCH, {9, 9}, 2, "0-3", 4, 0, "f0 f1 f0 f1", 0, 0, ""},
    {"optane", HM_ALLOC_SPLIT, READ, {9, 9, 9, 1}, {1, 1}, 2, "0-3", 6, 0, "f0 f1 2 3 2 1", 4, 0, ""},
    {"optane", HM_ALLOC_SPLIT, READ, MUCH, {3}, 1, "0-3", 4, 0, "f0 f0 f0 2", 1, 0, ""},
    {"optane", HM_ALLOC_SPLIT, READ, {0}, {1, 1}, 2, "0-3", 4, 0, "f0 f1 2 3", 2, 2, ""},
    {"one", HM_ALLOC_SPLIT, READ, MUCH, {9, 9}, 2, "0-1", 4, 0, "f0 f1 f0 f1", 0, 0, "one tier"},
};

static const int folder_socket[] = {0, 1, 2, 3};

static void make_layout(const struct row *row, struct hm_layout *layout)
{
    static struct hm_tiers tiers;
    static struct hm_config config;
    hm_config_defaults(&config);
    config.reserve_percent = 0;
    machine_make(row->machine, &tiers);
    hm_layout_of_tiers(&tiers, &config, layout);
}

static void test_placement(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        print_message("row %zu: %s, policy %d\n", i, row->machine, (int)row->policy);
        static struct hm_layout layout;
        struct hm_place place;
        struct hm_placed placed;
        struct hm_set allowed;
        struct hm_alloc_run run[MOST];
        uint64_t room[HM_ALLOC_NODES], folder_room[4];
        char reason[HM_ALLOC_REASON] = "", text[512];
        make_layout(row, &layout);
        for (int node = 0; node < layout.n_nodes; node++)
            room[node] = row->room[layout.node[node].id] * BLOCK;
        for (size_t folder = 0; folder < N_ROWS(folder_room); folder++)
            folder_room[folder] = row->folder_room[folder] * BLOCK;
        assert_int_equal(hm_set_parse(&allowed, row->allowed, NULL), 0);
        struct hm_layout_wish wish = {row->policy, row->hint, row->n_folders, folder_socket, folder_room,
                                      &allowed,    room};
        int status = hm_layout_place(&layout, &wish, &place, reason);
        assert_non_null(strstr(reason, row->reason));
        assert_int_equal(row->reason[0] == '\0', reason[0] == '\0');
        assert_int_equal(status, row->wanted ? 0 : -1);
        if (!row->wanted)
            continue;
        place.bytes = (uint64_t)row->blocks * BLOCK;
        place.block_bytes = BLOCK;
        place.first_lane = row->first_lane;
        hm_place_blocks(&place, run, &placed);
        list(&place, run, placed.n_runs, text, sizeof(text));
        assert_string_equal(text, row->wanted);
        assert_int_equal(placed.moved_bytes, row->moved * BLOCK);
        assert_int_equal(placed.overflow_bytes, row->overflow * BLOCK);
    }
}

/* A job that has a file system on socket 1 alone: what finds no room in it goes to that socket's memory. */
static void test_a_folder_is_on_its_socket(void **state)
{
    (void)state;
    const struct row row = {.machine = "optane"};
    const int socket = 1;
    const uint64_t folder_room = 3 * BLOCK, room[] = {9 * BLOCK, 9 * BLOCK, 9 * BLOCK, 9 * BLOCK};
    static struct hm_layout layout;
    struct hm_place place;
    struct hm_placed placed;
    struct hm_set allowed;
    struct hm_alloc_run run[MOST];
    char reason[HM_ALLOC_REASON] = "", text[512];
    make_layout(&row, &layout);
    assert_int_equal(hm_set_parse(&allowed, "0-3", NULL), 0);
    struct hm_layout_wish wish = {HM_ALLOC_SPLIT, READ, 1, &socket, &folder_room, &allowed, room};
    assert_int_equal(hm_layout_place(&layout, &wish, &place, reason), 0);
    place.bytes = 4 * BLOCK;
    place.block_bytes = BLOCK;
    place.first_lane = 0;
    hm_place_blocks(&place, run, &placed);
    list(&place, run, placed.n_runs, text, sizeof(text));
    assert_string_equal(text, "f0 f0 f0 3");
}

/* The last block may be shorter, and then takes less room. */
static void test_short_last_block(void **state)
{
    struct hm_place place = {.bytes = 15, .block_bytes = 10, .n_lanes = 1, .first_share = 1, .n_spots = 2};
    struct hm_alloc_run run[2];
    struct hm_placed placed;
    (void)state;
    place.spot[0] = (struct hm_place_spot){0, -1, 0, 0, 15};
    place.spot[1] = (struct hm_place_spot){1, -1, 0, 1, 99};
    hm_place_blocks(&place, run, &placed);
    assert_int_equal(placed.n_runs, 1);
    assert_int_equal(run[0].bytes, 15);
    assert_int_equal(place.spot[0].room_bytes, 0);
    assert_int_equal(placed.moved_bytes, 0);
}

/* Each share from 1 to 100 % is met to within a block. */
static void test_shares_are_kept(void **state)
{
    (void)state;
    for (int percent = 1; percent <= 100; percent++) {
        struct hm_place place = {.bytes = MOST, .block_bytes = 1, .n_lanes = 1, .first_share = percent / 100.};
        struct hm_alloc_run run[MOST];
        struct hm_placed placed;
        uint64_t first = 0;
        place.n_spots = 2;
        place.spot[0] = (struct hm_place_spot){0, -1, 0, 0, MOST};
        place.spot[1] = (struct hm_place_spot){1, -1, 0, 1, MOST};
        hm_place_blocks(&place, run, &placed);
        for (size_t i = 0; i < placed.n_runs; i++)
            first += run[i].node == 0 ? run[i].bytes : 0;
        assert_true(first <= percent * MOST / 100. + 1e-6 && first + 1 >= percent * MOST / 100.);
    }
}

/* Blocks are in the slice that their middle is in, also where they are larger than slices, or none of them is whole; no
 * more of them than find room. */
static void test_slices_are_where_they_are_wanted(void **state)
{
    static const struct {
        uint64_t bytes, block_bytes;
        struct hm_place_slices slices;
        const char *nodes; /* of the blocks */
    } rows_of_slices[] = {{32, 1, {0x80000001, 2}, "01111111111111111111111111111110"},
                          {64, 2, {0x00000006, 4}, "10011111111111111111111111111111"},
                          {32, 8, {0x00000010, 32}, "0111"},
                          {32, 8, {0x00000008, 32}, "1111"},
                          {32, 8, {0x00000010, 7}, "1111"},
                          {32, 32, {0x00010000, 1}, "1"},
                          {33, 2, {0x55555555, 33}, "00000000000000001"},
                          {33, 2, {0x55555555, 17}, "00000000111111111"},
                          {33, 11, {0x80000000, 33}, "111"},
                          {15, 10, {0xffff0000, 15}, "10"},
                          {1, 1, {0x00000001, 1}, "0"}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows_of_slices); i++) {
        struct hm_place place = {.bytes = rows_of_slices[i].bytes,
                                 .block_bytes = rows_of_slices[i].block_bytes,
                                 .n_lanes = 1,
                                 .first_slices = rows_of_slices[i].slices,
                                 .n_spots = 2};
        struct hm_alloc_run run[MOST];
        struct hm_placed placed;
        place.spot[0] = (struct hm_place_spot){0, -1, 0, 0, MOST};
        place.spot[1] = (struct hm_place_spot){1, -1, 0, 1, MOST};
        hm_place_blocks(&place, run, &placed);
        const char *node = rows_of_slices[i].nodes;
        for (size_t j = 0; j < placed.n_runs; j++)
            for (uint64_t at = 0; at < run[j].bytes; at += place.block_bytes)
                assert_int_equal(*node++ - '0', run[j].node);
        assert_int_equal(*node, '\0');
    }
}

static void test_reserve_is_kept(void **state)
{
    static struct hm_layout layout;
    struct hm_place place;
    struct hm_set allowed;
    uint64_t room[HM_ALLOC_NODES] = {70, 20, 99, 99};
    char reason[HM_ALLOC_REASON] = "";
    (void)state;
    make_layout(&rows[0], &layout);
    layout.node[0].reserve_bytes = layout.node[1].reserve_bytes = 30;
    assert_int_equal(hm_set_parse(&allowed, "0-3", NULL), 0);
    struct hm_layout_wish wish = {HM_ALLOC_FAST, READ, 0, NULL, NULL, &allowed, room};
    assert_int_equal(hm_layout_place(&layout, &wish, &place, reason), 0);
    assert_int_equal(place.spot[0].room_bytes, 40);
    assert_int_equal(place.spot[1].room_bytes, 0);
}

static void test_reasons_are_joined_and_cut(void **state)
{
    char reason[HM_ALLOC_REASON] = "";
    (void)state;
    hm_reason_add(reason, "one %d", 1);
    assert_string_equal(reason, "one 1");
    hm_reason_add(reason, "two");
    assert_string_equal(reason, "one 1; two");
    for (int i = 0; i < HM_ALLOC_REASON; i++)
        hm_reason_add(reason, "more");
    assert_int_equal(strlen(reason), HM_ALLOC_REASON - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_bytes),
        cmocka_unit_test(test_placement),
        cmocka_unit_test(test_a_folder_is_on_its_socket),
        cmocka_unit_test(test_short_last_block),
        cmocka_unit_test(test_shares_are_kept),
        cmocka_unit_test(test_slices_are_where_they_are_wanted),
        cmocka_unit_test(test_reserve_is_kept),
        cmocka_unit_test(test_reasons_are_joined_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
