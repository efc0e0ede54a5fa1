/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is remembered of places in code: the same code is the same everywhere, other code never is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/sources/clockplaces.h"

#define SEED 7

static struct hm_route_code piece_of(uint16_t before, uint16_t after, uint8_t first)
{
    struct hm_route_code piece = {.before = before, .after = after};
    for (size_t i = 0; i < (size_t)before + after; i++)
        piece.byte[i] = (uint8_t)(first + i);
    return piece;
}

static bool is_same(struct hm_clock_key a, struct hm_clock_key b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static void test_keys(void **state)
{
    struct hm_clock_places *places = *state, *others = hm_clock_places_new(SEED + 1);
    struct hm_route_code piece = piece_of(512, 512, 0), other = piece;
    struct hm_clock_key key = hm_clock_places_key(places, &piece);
    assert_true(is_same(key, hm_clock_places_key(places, &other)));
    assert_false(is_same(key, hm_clock_places_key(others, &piece))); /* the seed counts */
    for (size_t i = 0; i < sizeof(piece.byte); i++) {
        other.byte[i] ^= 0x80;
        struct hm_clock_key changed = hm_clock_places_key(places, &other);
        assert_true(changed.word[0] != key.word[0] && changed.word[1] != key.word[1]);
        other.byte[i] ^= 0x80;
    }
    /* the same bytes around another place, and zeros that are there or not */
    other = (struct hm_route_code){.before = 511, .after = 513};
    memcpy(other.byte, piece.byte, sizeof(other.byte));
    assert_false(is_same(key, hm_clock_places_key(places, &other)));
    struct hm_route_code zeros = {.after = 1}, more = {.after = 2};
    assert_false(is_same(hm_clock_places_key(places, &zeros), hm_clock_places_key(places, &more)));
    hm_clock_places_free(others);
}

static void test_places(void **state)
{
    struct hm_clock_places *places = *state;
    struct hm_clock_key key = {{5, 6}}, none = {{0}};
    const struct hm_route *route;
    assert_null(hm_clock_places_find(places, 10, 0x1000));
    assert_true(is_same(*hm_clock_places_note(places, 10, 0x1000, key), key));
    assert_true(is_same(*hm_clock_places_find(places, 10, 0x1000), key));
    assert_null(hm_clock_places_find(places, 11, 0x1000)); /* another process, another place */
    assert_null(hm_clock_places_find(places, 10, 0x1001));
    assert_false(hm_clock_places_route(places, &key, &route));
    hm_clock_places_forget(places);
    assert_null(hm_clock_places_find(places, 10, 0x1000));
    /* where no code can be read, it is known that there is no route */
    assert_true(hm_clock_places_route(places, hm_clock_places_note(places, 10, 0x2000, none), &route));
    assert_null(route);
}

static void test_routes_are_kept_by_code(void **state)
{
    struct hm_clock_places *places = *state;
    struct hm_clock_key key = {{5, 6}}, other = {{5, 7}};
    struct hm_route route = {.n = 1, .step = {{.op = HM_ROUTE_ACCESS, .value = 42}}}, none = {0};
    const struct hm_route *found;
    hm_clock_places_keep(places, &key, &route);
    assert_true(hm_clock_places_route(places, &key, &found));
    assert_int_equal(found->n, 1);
    assert_int_equal(found->step[0].value, 42);
    /* half of a key is none, though both are kept at the same index */
    assert_false(hm_clock_places_route(places, &other, &found));
    assert_null(found);
    hm_clock_places_keep(places, &other, &none);
    assert_true(hm_clock_places_route(places, &other, &found));
    assert_null(found);
    route.step[0].value = 43; /* a newer one of the same code */
    hm_clock_places_keep(places, &key, &route);
    assert_true(hm_clock_places_route(places, &key, &found));
    assert_int_equal(found->step[0].value, 43);
    assert_true(hm_clock_places_route(places, &other, &found));
}

/* However much code there is, what is remembered has a bound: the last that came. */
static void test_the_oldest_is_forgotten(void **state)
{
    enum { MANY = 64 };
    struct hm_clock_places *places = *state;
    struct hm_route route = {.n = 1, .step = {{.op = HM_ROUTE_ACCESS}}};
    const struct hm_route *found;
    int known = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        struct hm_clock_key key = {{5, i}};
        route.step[0].value = i;
        hm_clock_places_keep(places, &key, &route);
        assert_true(hm_clock_places_route(places, &key, &found));
        assert_int_equal(found->step[0].value, i);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        struct hm_clock_key key = {{5, i}};
        bool is_known = hm_clock_places_route(places, &key, &found);
        assert_true(is_known || known == 0);
        known += is_known;
    }
    assert_in_range(known, 2, MANY / 2);
}

static void test_what_was_seen(void **state)
{
    struct hm_clock_key key = {{5, 6}}, other = {{5, 7}};
    assert_false(hm_clock_places_see(*state, &key));
    assert_true(hm_clock_places_see(*state, &key));
    assert_false(hm_clock_places_see(*state, &other));
    assert_false(hm_clock_places_see(*state, &key)); /* it was forgotten for the other */
}

static int set_up(void **state)
{
    *state = hm_clock_places_new(SEED);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    hm_clock_places_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_routes_are_kept_by_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_oldest_is_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_seen, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
