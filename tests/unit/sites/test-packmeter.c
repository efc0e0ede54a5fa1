/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is kept of choices of items that have their times, and the parts of the time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "packmodel.h"
#include "unit/lib/rows.h"

#define NEAR_TIME 1e-9
#define MOST_TIMES (HM_PACK_PARTS + 1 + 2 * MOST)

/* Times between which nothing comes or goes. */
struct times {
    int n;
    double at[MOST_TIMES];
};

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static bool has_span(const struct world *world, size_t at)
{
    return world->series_of[at] && world->span[at].from < world->span[at].to;
}

static void find_times(const struct world *world, struct times *times)
{
    times->n = 0;
    for (int i = 0; i <= HM_PACK_PARTS; i++)
        times->at[times->n++] = (double)i / HM_PACK_PARTS;
    for (size_t i = 0; i < world->n; i++)
        if (has_span(world, i) && world->item[i].value > 0 && world->item[i].bytes > 0) {
            times->at[times->n++] = world->span[i].from;
            times->at[times->n++] = world->span[i].to;
        }
    qsort(times->at, (size_t)times->n, sizeof(times->at[0]), compare);
    int n = 1;
    for (int i = 1; i < times->n; i++)
        if (times->at[i] - times->at[n - 1] > NEAR_TIME)
            times->at[n++] = times->at[i];
    times->n = n;
}

/* Between one time and the next. */
static double bytes_of(const struct world *world, const struct times *times, size_t at, int from)
{
    if (from < 0)
        return 0;
    double middle = (times->at[from] + times->at[from + 1]) / 2;
    bool is_outside = has_span(world, at) && (middle < world->span[at].from || middle > world->span[at].to);
    if (!world->series_of[at])
        return (double)world->item[at].bytes;
    return is_outside ? 0 : (double)world->series[at][(int)(middle * HM_PACK_PARTS)];
}

/* Bytes, each times how long it is there. */
static double sum_of(const struct world *world, const struct times *times, size_t at)
{
    double all = 0;
    for (int from = 0; from + 1 < times->n; from++)
        all += bytes_of(world, times, at, from) * (times->at[from + 1] - times->at[from]);
    return all;
}

/* Forgets spans in which the series has nothing. */
static void forget_spans(struct world *world, const struct times *times)
{
    for (size_t i = 0; i < world->n; i++)
        if (sum_of(world, times, i) == 0)
            world->span[i] = (struct hm_pack_span){0, 0};
}

/* The same as hm_pack_measure, where something is known of the time: item by item, who comes first has the room. */
static double kept_of(struct world *world, const bool *is_fast)
{
    double held[MOST] = {0}, kept = 0;
    struct times times;
    find_times(world, &times);
    forget_spans(world, &times);
    for (int from = 0; from + 1 < times.n; from++) {
        double coming[MOST] = {0}, all_held = 0, all_coming = 0, length = times.at[from + 1] - times.at[from];
        for (size_t i = 0; i < world->n; i++) {
            double now = bytes_of(world, &times, i, from), before = bytes_of(world, &times, i, from - 1);
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
            kept += held[i] > 0 ? held[i] * length * world->item[i].value / sum_of(world, &times, i) : 0;
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

#define BORDER 13 /* the part that has the end of one item and the beginning of the other */

/* Two items share the room also where one begins in the part in which the other ends, if their spans say so. */
static void test_items_in_turn_share_the_room(void **state)
{
    static const struct {
        struct hm_pack_span span[2];
        double kept;
        uint64_t bytes;
    } rows[] = {
        {{{0.2, 13.4 / 32}, {13.4 / 32, 0.7}}, 200, 10},
        {{{0.2, 13.4 / 32}, {13.5 / 32, 0.7}}, 200, 10},
        /* they have some time in common, or it is not known: who comes first has the room */
        {{{0.2, 13.4 / 32}, {13.3 / 32, 0.7}}, 100, 20},
        {{{0, 0}, {13.4 / 32, 0.7}}, 100, 20},
        {{{0, 0}, {0, 0}}, 100, 20},
        /* of a span that has none of its series' bytes nothing is believed */
        {{{0.2, 13.4 / 32}, {0.1, 0.2}}, 100, 20},
    };
    static const struct hm_pack_item item[] = {{10, 100}, {10, 100}};
    uint64_t series[2][HM_PACK_PARTS] = {{0}};
    const uint64_t *series_of[] = {series[0], series[1]};
    (void)state;
    for (int part = 7; part < 20; part++)
        series[0][part] = part <= BORDER ? 10 : 0, series[1][part] = part >= BORDER ? 10 : 0;
    for (size_t row = 0; row < N_ROWS(rows); row++) {
        const struct hm_pack_scene scene = {.capacity = 10, .series = series_of, .span = rows[row].span};
        bool is_fast[2] = {true, true};
        struct hm_pack_result result = {.is_fast = is_fast};
        assert_int_equal(hm_pack_measure(&scene, item, 2, &result), 0);
        assert_float_equal(result.kept, rows[row].kept, 1e-9);
        assert_int_equal(result.bytes, rows[row].bytes);
        assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, 2, &result), 0);
        assert_float_equal(result.kept, rows[row].kept, 1e-9);
    }
}

/* More items than there is room for borders: of the smallest, what is not known counts for the part that has it. */
static void test_the_parts_are_bounded(void **state)
{
    enum { N = 1000 };
    static struct hm_pack_item item[N];
    static struct hm_pack_span span[N];
    static const uint64_t *series_of[N];
    static bool is_known[N];
    static uint64_t series[HM_PACK_PARTS];
    const struct hm_pack_scene scene = {.capacity = 1, .series = series_of, .span = span};
    struct hm_pack_parts parts;
    struct hm_random random = {9};
    double length = 0;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        double from = hm_random_share(&random) / 2;
        item[i] = (struct hm_pack_item){1 + (i * 7919) % N, 1};
        span[i] = (struct hm_pack_span){from, from + 0.3 * hm_random_share(&random)};
        series_of[i] = series;
        is_known[i] = true;
    }
    assert_int_equal(hm_pack_parts_cut(&parts, &scene, item, is_known, N), 0);
    assert_int_equal(parts.n, HM_PACK_CUT);
    for (int part = 0; part < parts.n; part++) {
        assert_true(parts.border[part] < parts.border[part + 1]);
        assert_int_equal(parts.cell[part], (int)(parts.border[part] * HM_PACK_PARTS));
        length += parts.length[part];
    }
    assert_float_equal(length, HM_PACK_PARTS, 1e-9);
    for (size_t i = 0; i < N; i++) {
        struct hm_pack_range range = hm_pack_parts_in(&parts, span[i]);
        double from = parts.border[range.first], to = parts.border[range.end];
        assert_true(from <= span[i].from + 1e-9 && to >= span[i].to - 1e-9);
        if (item[i].bytes > N - 100)
            assert_true(span[i].from - from < 1e-9 && to - span[i].to < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_measure_gives_the_room_to_who_comes_first),
        cmocka_unit_test(test_examples_of_what_is_kept),
        cmocka_unit_test(test_items_in_turn_share_the_room),
        cmocka_unit_test(test_the_parts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
