/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the packers: examples, and properties over random items. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "packmodel.h"
#include "unit/lib/rows.h"

#define SMALL 12 /* items of which all choices are tried */

/* What each packer takes, as letters of the items. */
static const struct {
    const char *packer;
    uint64_t capacity;
    size_t n;
    struct hm_pack_item item[4];
    const char *taken;
} rows[] = {
    /* the hottest does not fit beside what is worth more together */
    {"knapsack", 10, 3, {{6, 60}, {5, 45}, {5, 45}}, "bc"},
    {"hotset", 10, 3, {{6, 60}, {5, 45}, {5, 45}}, "ab"},
    /* b is worth 45, and displaces one byte of a, worth 10 */
    {"thermos", 10, 3, {{6, 60}, {5, 45}, {5, 45}}, "ab"},
    /* b is worth 30, and displaces 18 bytes: all of a, worth 80, and some of its own */
    {"hotset", 10, 3, {{8, 80}, {20, 30}, {2, 2}}, "ab"},
    {"thermos", 10, 3, {{8, 80}, {20, 30}, {2, 2}}, "ac"},
    /* a site that is larger than the tier has a part there, as nothing else is worth as much */
    {"knapsack", 10, 2, {{100, 500}, {4, 1}}, "b"},
    {"hotset", 10, 2, {{100, 500}, {4, 1}}, "a"},
    {"thermos", 10, 2, {{100, 500}, {4, 1}}, "a"},
    {"gain", 10, 2, {{100, 500}, {4, 1}}, "a"},
    {"gain", 10, 3, {{6, 60}, {5, 45}, {5, 45}}, "ab"},
    {"gain", 10, 3, {{8, 80}, {20, 30}, {2, 2}}, "ac"},
    /* exactly full */
    {"hotset", 10, 3, {{5, 50}, {5, 40}, {5, 30}}, "ab"},
    {"thermos", 10, 3, {{5, 50}, {5, 40}, {5, 30}}, "ab"},
    /* nothing gains, or there is no room, or nothing to place */
    {"knapsack", 10, 2, {{5, 0}, {0, 7}}, ""},
    {"hotset", 10, 2, {{5, 0}, {0, 7}}, ""},
    {"thermos", 10, 2, {{5, 0}, {0, 7}}, ""},
    {"gain", 10, 2, {{5, 0}, {0, 7}}, ""},
    {"gain", 0, 1, {{5, 1}}, ""},
    {"gain", 10, 0, {{0, 0}}, ""},
    {"knapsack", 0, 1, {{5, 1}}, ""},
    {"hotset", 0, 1, {{5, 1}}, ""},
    {"thermos", 0, 1, {{5, 1}}, ""},
    {"thermos", 10, 0, {{0, 0}}, ""},
};

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        bool is_fast[4] = {true, true, true, true};
        char taken[5] = "";
        size_t n_taken = 0;
        pack(rows[i].packer, rows[i].item, rows[i].n, rows[i].capacity, is_fast);
        for (size_t j = 0; j < rows[i].n; j++)
            if (is_fast[j])
                taken[n_taken++] = "abcd"[j];
        assert_string_equal(taken, rows[i].taken);
    }
}

/* The largest value of all choices within the capacity. */
static double best_of(const struct hm_pack_item *item, size_t n, uint64_t capacity)
{
    double best = 0;
    for (unsigned choice = 0; choice < 1u << n; choice++) {
        uint64_t bytes = 0;
        double value = 0;
        for (size_t i = 0; i < n; i++)
            if (choice >> i & 1) {
                bytes += item[i].bytes;
                value += item[i].bytes > 0 ? item[i].value : 0;
            }
        if (bytes <= capacity && value > best)
            best = value;
    }
    return best;
}

static void test_knapsack_finds_the_best_choice(void **state)
{
    struct hm_random random = {1};
    struct hm_pack_item item[MOST];
    bool is_fast[MOST];
    uint64_t sum;
    (void)state;
    for (int round = 0; round < 200; round++) {
        size_t n = make_items(&random, item, SMALL, &sum);
        uint64_t capacity = (uint64_t)(hm_random_share(&random) * (double)sum);
        struct hm_pack_result result = pack("knapsack", item, n, capacity, is_fast);
        assert_true(result.is_exact);
        assert_true(result.bytes <= capacity);
        assert_float_equal(result.value, best_of(item, n, capacity), 1e-6);
    }
}

/* The first or the last item that a packer has taken by value per byte; 0 bytes where there is none. */
static uint64_t bytes_of_one(const struct hm_pack_item *item, size_t n, const bool *is_fast, bool is_first)
{
    size_t n_used;
    uint64_t bytes = 0;
    size_t *order = hm_pack_sort(item, n, &n_used);
    assert_non_null(order);
    for (size_t i = 0; i < n_used; i++)
        if (is_fast[order[i]] && !(is_first && bytes > 0))
            bytes = item[order[i]].bytes;
    free(order);
    return bytes;
}

static void test_properties(void **state)
{
    struct hm_random random = {2};
    struct hm_pack_item item[MOST];
    bool is_fast[MOST];
    uint64_t sum;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = make_items(&random, item, MOST, &sum);
        uint64_t capacity = (uint64_t)(hm_random_share(&random) * 1.1 * (double)sum);
        struct hm_pack_result result[4];
        for (size_t i = 0; i < 4; i++) {
            const struct hm_packer *packer = hm_packer_at(i);
            result[i] = pack(packer->name, item, n, capacity, is_fast);
            /* over the capacity by the last site at most, by gain by the hottest, of which a part has room; and where
             * all fit, all are taken */
            uint64_t allowed = packer->may_exceed ? bytes_of_one(item, n, is_fast, i == 0) : 0;
            assert_true(result[i].bytes <= capacity || result[i].bytes - allowed < capacity);
            for (size_t j = 0; j < n; j++) {
                assert_true(!is_fast[j] || (item[j].value > 0 && item[j].bytes > 0));
                assert_true(sum > capacity || item[j].value == 0 || item[j].bytes == 0 || is_fast[j]);
            }
            assert_true(result[i].kept <= result[i].value);
            assert_true(result[i].kept <= result[i].bound * (1 + 1e-9));
        }
        assert_string_equal(hm_packer_at(1)->name, "thermos");
        assert_string_equal(hm_packer_at(2)->name, "hotset");
        assert_true(result[1].kept >= result[2].kept * (1 - 1e-9));
        /* knapsack begins with the hottest that fit, so it has at least half of what is possible */
        assert_true(2 * result[3].value >= best_of(item, n < SMALL ? n : 0, capacity));
        assert_null(hm_packer_at(4));
    }
}

/* Items that are nearly alike make the tree large: the search ends, and says that it is not exact. */
static void test_a_hard_knapsack_ends(void **state)
{
    enum { N = 4000 };
    static struct hm_pack_item item[N];
    static bool is_fast[N];
    struct hm_random random = {3};
    (void)state;
    for (size_t i = 0; i < N; i++) {
        item[i].bytes = 1000000 + 2 * (hm_random_next(&random) % 1000);
        item[i].value = (double)item[i].bytes;
    }
    struct hm_pack_result result = pack("knapsack", item, N, 999999999, is_fast);
    assert_false(result.is_exact);
    assert_true(result.bytes <= 999999999);
    assert_true(result.value >= 0.999 * result.bound);
}

static void test_names(void **state)
{
    struct hm_error error = {""};
    char names[HM_PACK_NAMES];
    (void)state;
    assert_null(hm_packer_find("best", &error));
    assert_string_equal(error.text, "\"best\" is no packer: use gain, thermos, hotset or knapsack");
    assert_string_equal(hm_packer_names(names), "gain, thermos, hotset or knapsack");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),   cmocka_unit_test(test_knapsack_finds_the_best_choice),
        cmocka_unit_test(test_properties), cmocka_unit_test(test_a_hard_knapsack_ends),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
