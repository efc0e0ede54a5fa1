/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which sites of a profile are divided, and which of their slices are chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "madesite.h"
#include "sites/guide/choose.h"

#define MIB (UINT64_C(1) << 20)

static const struct hm_layout layout = {.n_nodes = 2, .node = {{.id = 0, .is_fast = true}, {.id = 1}}};
static struct hm_guide_choice choice;

/* Of a site that is used unevenly, the slices that are used most; of one that is not, as many as find room. */
static void test_sites_are_divided(void **state)
{
    struct hm_profile_site site[2] = {
        {.id = 1, .allocations = 4, .peak_bytes = 64 * MIB, .mean_bytes = 64 * MIB, .lifetime_s = 9, .reads = 900},
        {.id = 2, .allocations = 768, .peak_bytes = 24 * MIB, .mean_bytes = 24 * MIB, .lifetime_s = 10, .reads = 300}};
    const struct hm_profile profile = {.elapsed_s = 10, .n_sites = 2, .site = site, .elsewhere = 0};
    struct hm_error error = {""};
    (void)state;
    for (int i = 0; i < 2; i++) {
        site[i].slices.samples = site[i].reads;
        site[i].slices.is_known = true;
        for (int slice = 0; slice < 24; slice++)
            site[i].slices.accesses[slice] = i > 0 ? 12.5 : slice == 5 || slice == 6 ? 400 : 100.0 / 22;
    }
    site[1].slices.step_bytes = MIB;
    site[1].slices.extent_bytes = 24 * MIB;
    choice.packer = hm_packer_at(0);
    choice.has_arenas = true;
    choice.capacity_bytes = 16 * MIB;
    assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
    assert_int_equal(choice.fast_bytes, 16 * MIB);
    assert_int_equal(choice.table.limited_bytes, 0);
    assert_int_equal(choice.table.n_parts, 2);
    const struct hm_guide_part *part = &choice.table.part[hm_guide_find_part(&choice.table, 1)];
    assert_true(part->slices == (1u << 5 | 1u << 6) && part->step_bytes == 0);
    part = &choice.table.part[hm_guide_find_part(&choice.table, 2)];
    assert_true(__builtin_popcount(part->slices) == 12 && part->slices >> 24 == 0 && part->step_bytes == MIB);
    assert_float_equal(choice.expected_share, (0.8 * 800 + 0.2 * 900 / 16 + 150) / 1200,
                       0.01);          /* a fifth is spread evenly */
    choice.capacity_bytes = 128 * MIB; /* whole: no part is named */
    assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
    assert_int_equal(choice.table.n_ids, 2);
    assert_int_equal(choice.table.n_parts, 0);
    choice.packer = hm_packer_find("hotset", &error); /* the paper's divide no site */
    choice.capacity_bytes = 16 * MIB;
    assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
    assert_int_equal(choice.table.n_parts, 0);
}

/* What is never touched of a site takes no room, whether its slices are chosen one by one or it is taken whole. */
static void test_what_is_not_touched_takes_no_room(void **state)
{
    static const char *const packers[] = {"gain", "hotset", "thermos", "knapsack"};
    struct hm_profile_site site[2] = {made_site(1, 64 * MIB, 900), made_site(2, 8 * MIB, 100)};
    const struct hm_profile profile = {.elapsed_s = 10, .n_sites = 2, .site = site, .elsewhere = 0};
    struct hm_error error = {""};
    (void)state;
    site[0].resident = (struct hm_profile_resident){.is_known = true, .peak_bytes = 5 * MIB, .slices = 0x70};
    choice.has_arenas = true;
    choice.capacity_bytes = 14 * MIB;
    for (int is_divided = 0; is_divided < 2; is_divided++) {
        site[0].slices = (struct hm_slices){
            .is_known = is_divided > 0, .accesses = {[4] = 300, [5] = 300, [6] = 300}, .samples = 900};
        for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++) {
            choice.packer = hm_packer_find(packers[i], &error);
            assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
            assert_int_equal(choice.table.n_ids, 2);
            assert_int_equal(choice.fast_bytes, 14 * MIB);
            assert_int_equal(choice.table.limited_bytes, 0);
            assert_float_equal(choice.expected_share, 1, 1e-9);
            assert_int_equal(choice.table.n_parts, 1);
            assert_true(choice.table.part[0].id == 1 && choice.table.part[0].slices == 0x70);
            assert_int_equal(choice.table.part[0].step_bytes, 0);
        }
    }
    site[0].allocations = 64 * MIB / 4096; /* small ones have no slices, and the guide counts all of the arenas */
    site[0].mean_bytes = 64 * MIB;
    site[0].slices.is_known = false;
    choice.packer = hm_packer_find("knapsack", &error);
    assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
    assert_int_equal(choice.table.n_ids, 1);
}

#define MANY (HM_GUIDE_PARTS + 6)

/* Where more sites could be divided than are, those are that have most accesses, wherever they stand. */
static void test_sites_with_most_accesses_are_divided(void **state)
{
    static struct hm_profile_site site[MANY];
    const struct hm_profile profile = {.elapsed_s = 10, .n_sites = MANY, .site = site, .elsewhere = 0};
    struct hm_error error = {""};
    (void)state;
    for (int i = 0; i < MANY; i++) {
        site[i] = made_site((uint64_t)i + 1, MIB, 1000 + i);
        site[i].slices = (struct hm_slices){.is_known = true, .accesses = {500, 500}, .samples = 1000 + i};
    }
    choice.packer = hm_packer_at(0);
    choice.capacity_bytes = HM_GUIDE_PARTS * MIB / 16; /* of each of them the two slices that are used */
    assert_int_equal(hm_guide_choose(&profile, "a", &layout, &choice, &error), 0);
    assert_int_equal(choice.table.n_parts, HM_GUIDE_PARTS);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(hm_guide_find_part(&choice.table, site[i].id) >= 0, i >= MANY - HM_GUIDE_PARTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites_are_divided),
        cmocka_unit_test(test_what_is_not_touched_takes_no_room),
        cmocka_unit_test(test_sites_with_most_accesses_are_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
