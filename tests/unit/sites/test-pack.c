/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the packers: examples, and properties over random sites. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "sites/pack/meter.h"
#include "unit/lib/rows.h"

#define MOST 64
#define ROUNDS 200
#define SMALL 12 /* items of which all choices are tried */
#define MANY 14  /* the same, for gain: more than it tries all choices of */

static struct hm_pack_result pack(const char *name, const struct hm_pack_item *item, size_t n, uint64_t capacity,
                                  bool *is_fast)
{
    struct hm_pack_result result = {.is_fast = is_fast};
    struct hm_error error = {""};
    const struct hm_packer *packer = hm_packer_find(name, &error);
    assert_non_null(packer);
    assert_int_equal(hm_pack(packer, item, n, capacity, &result), 0);
    return result;
}

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

/* Sites whose sizes and values differ by orders of magnitude; some have neither. */
static size_t make_items(struct hm_random *random, struct hm_pack_item item[MOST], size_t most, uint64_t *sum)
{
    size_t n = 1 + hm_random_next(random) % most;
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        item[i].bytes = hm_random_next(random) % 8 == 0 ? 0 : (uint64_t)exp(20 * hm_random_share(random));
        item[i].value = hm_random_next(random) % 8 == 0 ? 0 : floor(exp(10 * hm_random_share(random)));
        *sum += item[i].bytes;
    }
    return n;
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

/* ---------------------------------------------------------- time and bandwidth */

struct world {
    struct hm_pack_item item[MOST];
    uint64_t series[MOST][HM_PACK_PARTS];
    const uint64_t *series_of[MOST];
    struct hm_pack_scene scene;
    size_t n;
};

/* Items that live for a while, grow or shrink, or whose time is not known; and a scene that may have bandwidths. */
static void make_world(struct hm_random *random, size_t most, struct world *world)
{
    uint64_t sum;
    *world = (struct world){.n = make_items(random, world->item, most, &sum)};
    sum = 0;
    double accesses = 0;
    for (size_t i = 0; i < world->n; i++) {
        struct hm_pack_item *item = &world->item[i];
        item->bytes = hm_random_next(random) % 16 == 0 ? 0 : 1 + hm_random_next(random) % 1000;
        item->value = hm_random_next(random) % 16 == 0 ? 0 : (double)(1 + hm_random_next(random) % 100000);
        int first = (int)(hm_random_next(random) % HM_PACK_PARTS);
        int end = first + 1 + (int)(hm_random_next(random) % (uint64_t)(HM_PACK_PARTS - first));
        for (int part = first; part < end; part++)
            world->series[i][part] = item->bytes - hm_random_next(random) % 2 * (item->bytes / 3);
        world->series_of[i] = hm_random_next(random) % 8 == 0 ? NULL : world->series[i];
        sum += item->bytes;
        accesses += item->value;
    }
    world->scene.series = world->series_of;
    world->scene.capacity = (uint64_t)(hm_random_share(random) * 0.8 * (double)sum);
    if (hm_random_next(random) % 3 > 0)
        return;
    world->scene.fast_mbs = 100000 + 400000 * hm_random_share(random);
    world->scene.slow_mbs = 100000;
    world->scene.accesses = accesses * (1 + hm_random_share(random) / 10);
}

static struct hm_pack_result pack_world(const char *name, const struct world *world, bool *is_fast)
{
    struct hm_pack_result result = {.is_fast = is_fast};
    assert_int_equal(hm_pack_into(hm_packer_find(name, NULL), &world->scene, world->item, world->n, &result), 0);
    return result;
}

static double bytes_of(const struct world *world, size_t at, int part)
{
    return part < 0 ? 0 : (double)(world->series_of[at] ? world->series[at][part] : world->item[at].bytes);
}

static double density_of(const struct world *world, size_t at)
{
    double all = 0;
    for (int part = 0; part < HM_PACK_PARTS; part++)
        all += bytes_of(world, at, part);
    return all > 0 ? world->item[at].value / all : 0;
}

/* The same as hm_pack_measure, where something is known of the time: item by item, who comes first has the room. */
static double kept_of(const struct world *world, const bool *is_fast)
{
    double held[MOST] = {0}, kept = 0;
    for (int part = 0; part < HM_PACK_PARTS; part++) {
        double coming[MOST] = {0}, all_held = 0, all_coming = 0;
        for (size_t i = 0; i < world->n; i++) {
            double now = bytes_of(world, i, part), before = bytes_of(world, i, part - 1);
            if (!is_fast[i])
                continue;
            held[i] *= now < before ? now / before : 1;
            coming[i] = fmax(now - before, 0);
            all_held += held[i];
            all_coming += coming[i];
        }
        double left = fmax((double)world->scene.capacity - all_held, 0);
        for (size_t i = 0; i < world->n; i++) {
            held[i] += all_coming > left ? coming[i] * left / all_coming : coming[i];
            kept += held[i] * density_of(world, i);
        }
    }
    return kept;
}

static bool has_series(const struct world *world)
{
    for (size_t i = 0; i < world->n; i++)
        if (world->series_of[i] && world->item[i].value > 0 && world->item[i].bytes > 0)
            return true;
    return false;
}

static void test_the_measure_gives_the_room_to_who_comes_first(void **state)
{
    struct hm_random random = {4};
    static struct world world;
    (void)state;
    for (int round = 0; round < 300; round++) {
        bool is_fast[MOST];
        struct hm_pack_result result = {.is_fast = is_fast};
        make_world(&random, MOST, &world);
        for (size_t i = 0; i < world.n; i++)
            is_fast[i] = hm_random_next(&random) % 2 == 0 && world.item[i].value > 0 && world.item[i].bytes > 0;
        assert_int_equal(hm_pack_measure(&world.scene, world.item, world.n, &result), 0);
        double kept = kept_of(&world, is_fast);
        if (has_series(&world))
            assert_float_equal(result.kept, kept, 1e-6 * (1 + kept));
        assert_true(result.kept <= result.bound * (1 + 1e-9));
    }
}

#define HALF (HM_PACK_PARTS / 2)
#define ALL 0, HM_PACK_PARTS /* parts in which an item has its bytes */
#define EARLY 0, HALF
#define LATE HALF, HM_PACK_PARTS
#define NEVER 0, 0 /* the series has no bytes */
#define UNKNOWN -1, 0

/* What is kept of all these items with room for 10 bytes. */
static const struct {
    struct hm_pack_item item[3];
    int parts[3][2];
    double kept;
} kept_rows[] = {
    /* nothing is known of the time: the hottest bytes have no room; nor is it where only the time of what is never
     * taken is known */
    {{{10, 100}, {10, 10}}, {{UNKNOWN}, {UNKNOWN}}, 10},
    {{{10, 100}, {10, 10}}, {{NEVER}, {NEVER}}, 10},
    {{{10, 100}, {10, 10}, {5, 0}}, {{UNKNOWN}, {UNKNOWN}, {ALL}}, 10},
    /* who comes first has the room */
    {{{10, 100}, {10, 10}}, {{ALL}, {LATE}}, 100},
    {{{10, 100}, {10, 10}}, {{LATE}, {ALL}}, 10},
    /* who comes at the same time has equal shares; of an item whose time is not known this is the beginning */
    {{{10, 100}, {10, 10}}, {{ALL}, {ALL}}, 55},
    {{{10, 100}, {10, 10}}, {{UNKNOWN}, {ALL}}, 55},
    {{{10, 100}, {10, 10}}, {{UNKNOWN}, {LATE}}, 100},
    /* shares go by bytes: 2 of 5, and 8 of 20 */
    {{{5, 100}, {20, 10}}, {{ALL}, {ALL}}, 44},
    /* what is slow stays so when there is room again, and the next one has it */
    {{{10, 100}, {10, 10}}, {{EARLY}, {ALL}}, 55},
    {{{10, 100}, {10, 10}, {10, 1000}}, {{EARLY}, {ALL}, {LATE}}, 555},
};

static void test_examples_of_what_is_kept(void **state)
{
    (void)state;
    for (size_t row = 0; row < N_ROWS(kept_rows); row++) {
        uint64_t series[3][HM_PACK_PARTS] = {{0}};
        const uint64_t *series_of[3] = {NULL};
        bool is_fast[3] = {true, true, true};
        struct hm_pack_result result = {.is_fast = is_fast};
        const struct hm_pack_scene scene = {.capacity = 10, .series = series_of};
        for (size_t i = 0; i < 3; i++) {
            for (int part = kept_rows[row].parts[i][0]; part >= 0 && part < kept_rows[row].parts[i][1]; part++)
                series[i][part] = kept_rows[row].item[i].bytes;
            series_of[i] = kept_rows[row].parts[i][0] < 0 ? NULL : series[i];
        }
        assert_int_equal(hm_pack_measure(&scene, kept_rows[row].item, 3, &result), 0);
        assert_float_equal(result.kept, kept_rows[row].kept, 1e-9);
    }
}

/* At no time as much over the capacity as the largest item that is taken. */
static bool is_allowed(const struct world *world, const struct hm_pack_result *result)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < world->n; i++)
        if (result->is_fast[i] && world->item[i].value > 0 && world->item[i].bytes > largest)
            largest = world->item[i].bytes;
    return result->bytes <= world->scene.capacity || result->bytes - world->scene.capacity < largest;
}

static void test_gain_is_never_worse_than_the_others(void **state)
{
    struct hm_random random = {5};
    static struct world world;
    bool is_fast[MOST];
    size_t n_better = 0, rounds = ROUNDS;
    (void)state;
    for (size_t round = 0; round < rounds; round++) {
        make_world(&random, MOST, &world);
        double best = 0;
        for (size_t i = 1; hm_packer_at(i); i++)
            best = fmax(best, pack_world(hm_packer_at(i)->name, &world, is_fast).score);
        struct hm_pack_result result = pack_world("gain", &world, is_fast);
        assert_true(result.score >= best * (1 - 1e-9));
        assert_true(is_allowed(&world, &result));
        n_better += result.score > best * 1.01;
        for (size_t i = 0; i < world.n; i++)
            assert_true(!is_fast[i] || (world.item[i].value > 0 && world.item[i].bytes > 0));
    }
    assert_true(n_better > rounds / 4);
}

/* The best score of all choices that are allowed. */
static double best_score(const struct world *world)
{
    double best = 0;
    bool is_fast[MANY];
    for (unsigned choice = 0; choice < 1u << world->n; choice++) {
        struct hm_pack_result result = {.is_fast = is_fast};
        for (size_t i = 0; i < world->n; i++)
            is_fast[i] = choice >> i & 1;
        assert_int_equal(hm_pack_measure(&world->scene, world->item, world->n, &result), 0);
        if (is_allowed(world, &result))
            best = fmax(best, result.score);
    }
    return best;
}

/* Of few items it finds the best choice; of more one that is within NEAR of it. */
#define NEAR 0.97
static void test_gain_is_near_the_best_choice(void **state)
{
    struct hm_random random = {6};
    static struct world world;
    bool is_fast[MOST];
    double least = 1;
    (void)state;
    for (int round = 0; round < 200; round++) {
        make_world(&random, 8, &world);
        double best = best_score(&world);
        assert_float_equal(pack_world("gain", &world, is_fast).score, best, 1e-6 * best);
    }
    for (int round = 0; round < 12; round++) {
        do
            make_world(&random, MANY, &world);
        while (world.n < MANY);
        least = fmin(least, pack_world("gain", &world, is_fast).score / best_score(&world));
    }
    print_message("gain has at least %.4f of the best choice of %d items\n", least, MANY);
    assert_true(least >= NEAR);
}

/* What the others leave goes to one item more, with a limit: the choice fits, and keeps as much as is served of it. */
static void test_gain_limits_an_item_to_what_the_others_leave(void **state)
{
    struct hm_random random = {7};
    static struct world world;
    bool is_fast[MOST], plain_fast[MOST], is_limitable[MOST];
    size_t n_limited = 0;
    (void)state;
    for (int round = 0; round < 5 * ROUNDS; round++) {
        make_world(&random, 4, &world);
        struct hm_pack_result plain = pack_world("gain", &world, plain_fast);
        for (size_t i = 0; i < world.n; i++)
            is_limitable[i] = hm_random_next(&random) % 4 > 0;
        world.scene.is_limitable = is_limitable;
        struct hm_pack_result result = pack_world("gain", &world, is_fast);
        assert_true(result.score >= plain.score * (1 - 1e-9));
        if (result.limit_bytes == 0) {
            assert_memory_equal(is_fast, plain_fast, world.n * sizeof(bool));
            continue;
        }
        n_limited++;
        assert_true(is_fast[result.limited] && is_limitable[result.limited]);
        assert_true(result.bytes <= world.scene.capacity && result.limit_bytes <= world.scene.capacity);
        assert_float_equal(result.kept, result.value, 1e-9 * result.value);
    }
    print_message("%zu of %d choices have a limit\n", n_limited, 5 * ROUNDS);
    assert_true(n_limited > ROUNDS / 10);
}

/* Where all can be limited and nothing is known of the time, no choice keeps more. */
static void test_gain_with_a_limit_reaches_the_bound(void **state)
{
    struct hm_random random = {8};
    struct hm_pack_item item[MOST];
    bool is_fast[MOST], is_limitable[MOST];
    uint64_t sum;
    (void)state;
    memset(is_limitable, true, sizeof(is_limitable));
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = make_items(&random, item, MOST, &sum);
        struct hm_pack_scene scene = {.capacity = sum / 3, .is_limitable = is_limitable};
        struct hm_pack_result result = {.is_fast = is_fast};
        assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, n, &result), 0);
        assert_float_equal(result.kept, result.bound, 1e-9 * (1 + result.bound));
    }
}

/* What was hot in a large item has no room beside b, which comes later. */
static void test_a_limit_leaves_room_for_who_comes_later(void **state)
{
    static const uint64_t early[HM_PACK_PARTS] = {[0 ... HM_PACK_PARTS - 1] = 100}, late[HM_PACK_PARTS] = {[HALF] = 6};
    static const struct hm_pack_item item[] = {{100, 100}, {6, 60}, {20, 1}};
    static const bool is_limitable[] = {true, true, false};
    const uint64_t *series[] = {early, late, NULL};
    struct hm_pack_scene scene = {.capacity = 10, .series = series, .is_limitable = is_limitable};
    bool is_fast[3];
    struct hm_pack_result result = {.is_fast = is_fast};
    (void)state;
    assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, 3, &result), 0);
    assert_true(is_fast[0] && is_fast[1] && !is_fast[2]);
    assert_int_equal(result.limited, 0);
    assert_int_equal(result.limit_bytes, 4);
    assert_float_equal(result.kept, 64, 1e-9);
    assert_int_equal(result.bytes, 10);
    assert_int_equal(hm_pack_into(hm_packer_find("hotset", NULL), &scene, item, 3, &result), 0);
    assert_int_equal(result.limit_bytes, 0);
}

/* The first and the last have all of the room. The second with a part of the first gains as much, but for rounding. */
static void test_no_item_is_limited_for_nothing(void **state)
{
    static const struct hm_pack_item item[] = {{8, 8 / 3.0}, {7, 7 / 3.0}, {2, 2 / 3.0}};
    static const bool is_limitable[] = {true, true, true};
    const struct hm_pack_scene scene = {.capacity = 10, .is_limitable = is_limitable};
    bool is_fast[3];
    struct hm_pack_result result = {.is_fast = is_fast};
    (void)state;
    assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, 3, &result), 0);
    assert_true(is_fast[0] && !is_fast[1] && is_fast[2]);
    assert_int_equal(result.limit_bytes, 0);
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
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_knapsack_finds_the_best_choice),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_gain_limits_an_item_to_what_the_others_leave),
        cmocka_unit_test(test_gain_with_a_limit_reaches_the_bound),
        cmocka_unit_test(test_a_limit_leaves_room_for_who_comes_later),
        cmocka_unit_test(test_no_item_is_limited_for_nothing),
        cmocka_unit_test(test_a_hard_knapsack_ends),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_examples_of_what_is_kept),
        cmocka_unit_test(test_the_measure_gives_the_room_to_who_comes_first),
        cmocka_unit_test(test_gain_is_never_worse_than_the_others),
        cmocka_unit_test(test_gain_is_near_the_best_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
