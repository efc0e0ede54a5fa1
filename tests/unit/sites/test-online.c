/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the decision of online guidance: which sites change tiers by what was sampled, and when that pays. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "sites/online/decide.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)

/* Two sites, of 8 MiB each; one fits. Moves cost nothing where `byte_s` is 0. */
struct row {
    const char *name;
    double accesses[2]; /* as many samples */
    double fast[2];     /* the part of each that is in the fast tier */
    bool was[2];        /* chosen before */
    uint64_t capacity;
    double byte_s;
    enum hm_online_verdict verdict;
    bool is[2]; /* chosen now */
    bool is_full;
};

static const struct row rows[] = {
    {"too few samples", {40, 0}, {0, 1}, {false, false}, 8 * MIB, 0, HM_ONLINE_BLIND, {false, false}, false},
    {"no samples of sites", {0, 0}, {0, 1}, {false, false}, 8 * MIB, 0, HM_ONLINE_BLIND, {false, false}, false},
    {"the hot one is down", {100, 0}, {0, 1}, {false, false}, 8 * MIB, 0, HM_ONLINE_NEW, {true, false}, true},
    {"it is there already", {100, 0}, {1, 0}, {true, false}, 8 * MIB, 0, HM_ONLINE_SAME, {true, false}, true},
    {"too few of one site tell nothing",
     {4, 96},
     {0, 0},
     {false, true},
     20 * MIB,
     0,
     HM_ONLINE_SAME,
     {false, true},
     false},
    {"the use changes", {0, 100}, {1, 0}, {true, false}, 8 * MIB, 0, HM_ONLINE_NEW, {false, true}, true},
    {"a little hotter is chance", {100, 120}, {1, 0}, {true, false}, 8 * MIB, 0, HM_ONLINE_SAME, {true, false}, true},
    {"much hotter is not", {100, 200}, {1, 0}, {true, false}, 8 * MIB, 0, HM_ONLINE_NEW, {false, true}, true},
    {"the moves cost more", {100, 0}, {0, 1}, {false, false}, 8 * MIB, 1, HM_ONLINE_COST, {false, false}, false},
    {"all fit", {100, 50}, {0, 0}, {false, false}, 16 * MIB, 0, HM_ONLINE_NEW, {true, true}, false},
    {"there is no room", {100, 50}, {0, 0}, {false, false}, 0, 0, HM_ONLINE_SAME, {false, false}, false},
};

static void decide(const struct row *row, struct hm_online_site site[2], struct hm_online_choice *choice)
{
    struct hm_online_scene scene = {.packer = hm_packer_find("knapsack", NULL),
                                    .capacity = row->capacity,
                                    .samples = row->accesses[0] + row->accesses[1],
                                    .slow = 2,
                                    .use_s = 1,
                                    .byte_s = row->byte_s};
    for (int i = 0; i < 2; i++) {
        uint64_t up = (uint64_t)(row->fast[i] * 8 * MIB);
        site[i] = (struct hm_online_site){row->accesses[i],   row->accesses[i], 8 * MIB,
                                          {up, 8 * MIB - up}, {0, 0},           row->was[i]};
    }
    assert_int_equal(hm_online_decide(&scene, site, 2, choice), 0);
}

static void test_rows(void **state)
{
    struct hm_online_site site[2];
    struct hm_online_choice choice;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        decide(&rows[i], site, &choice);
        if (choice.verdict != rows[i].verdict || site[0].is_fast != rows[i].is[0] || site[1].is_fast != rows[i].is[1] ||
            choice.is_full != rows[i].is_full)
            fail_msg("%s: verdict %d, fast %d and %d, full %d", rows[i].name, (int)choice.verdict, site[0].is_fast,
                     site[1].is_fast, choice.is_full);
    }
}

/* All accesses take twice as long, and none does after the moves: half of the waits is gained, of which a tenth of the
 * time is taken to be. The moves pay up to that. */
static void test_gain_pays_for_moves(void **state)
{
    struct row row = rows[2];
    struct hm_online_site site[2];
    struct hm_online_choice choice;
    const double moved = 16 * MIB; /* one up, one down */
    (void)state;
    row.byte_s = 0.99 * 0.5 * 0.1 / moved;
    decide(&row, site, &choice);
    assert_true(fabs(choice.gain - 0.5) < 1e-9);
    assert_int_equal(choice.verdict, HM_ONLINE_NEW);
    assert_true(choice.expected_share == 1);
    assert_int_equal(choice.fast_bytes, 8 * MIB);
    row.byte_s = 1.01 * 0.5 * 0.1 / moved;
    decide(&row, site, &choice);
    assert_int_equal(choice.verdict, HM_ONLINE_COST);
    assert_true(choice.expected_share == 0);
}

/* The samples of two sites that are equally hot differ by chance, in each phase anew: nothing ever moves. */
static void test_chance_moves_nothing(void **state)
{
    struct hm_random random = {1};
    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct row row = {"chance", {0, 0}, {1, 0}, {true, false}, 8 * MIB, 0, HM_ONLINE_SAME, {true, false}, true};
        struct hm_online_site site[2];
        struct hm_online_choice choice;
        for (int i = 0; i < 200; i++)
            row.accesses[hm_random_next(&random) & 1]++;
        decide(&row, site, &choice);
        assert_int_equal(choice.verdict, HM_ONLINE_SAME);
    }
}

/* One site has filled the fast tier, and stays there; the other one has its part `fixed` in the slow tier. */
static const struct {
    const char *name;
    uint64_t filled, movable, fixed, capacity; /* MiB */
    bool was, is;
    double expected_share;
} fixed_rows[] = {
    {"no room", 8, 8, 0, 12, false, false, 0},
    {"room beside it", 8, 8, 0, 16, false, true, 1},
    {"more there than there may be", 32, 8, 0, 16, true, false, 0},
    {"half can be moved", 8, 4, 4, 12, false, true, 0.5},
    {"nothing can be moved", 0, 0, 8, 16, false, false, 0},
    {"nothing can be moved any more", 0, 0, 8, 16, true, true, 0},
};

static void test_memory_that_cannot_be_moved(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(fixed_rows); i++) {
        const struct hm_online_scene scene = {.packer = hm_packer_find("knapsack", NULL),
                                              .capacity = fixed_rows[i].capacity * MIB,
                                              .samples = 200,
                                              .slow = 2,
                                              .use_s = 1};
        struct hm_online_site site[2] = {
            {.fixed_bytes = {fixed_rows[i].filled * MIB, 0}},
            {200,
             200,
             fixed_rows[i].movable * MIB,
             {0, fixed_rows[i].movable * MIB},
             {0, fixed_rows[i].fixed * MIB},
             fixed_rows[i].was},
        };
        struct hm_online_choice choice;
        assert_int_equal(hm_online_decide(&scene, site, 2, &choice), 0);
        if (site[0].is_fast || site[1].is_fast != fixed_rows[i].is ||
            fabs(choice.expected_share - fixed_rows[i].expected_share) > 1e-9 ||
            choice.fast_bytes != (fixed_rows[i].is ? fixed_rows[i].movable * MIB : 0))
            fail_msg("%s: fast %d, expected %f", fixed_rows[i].name, site[1].is_fast, choice.expected_share);
    }
}

/* Two sites with as many accesses to each byte, one of which shares half of its memory. */
static void test_heat_is_of_all_memory(void **state)
{
    const struct hm_online_site shared = {.accesses = 100, .bytes = 4 * MIB, .fixed_bytes = {1 * MIB, 3 * MIB}},
                                alone = {.accesses = 50, .bytes = 4 * MIB}, none = {.accesses = 50};
    (void)state;
    assert_true(hm_online_heat(&shared) == hm_online_heat(&alone));
    assert_true(hm_online_heat(&none) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_gain_pays_for_moves),
        cmocka_unit_test(test_chance_moves_nothing),
        cmocka_unit_test(test_memory_that_cannot_be_moved),
        cmocka_unit_test(test_heat_is_of_all_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
