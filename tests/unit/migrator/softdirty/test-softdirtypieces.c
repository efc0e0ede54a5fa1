/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the pieces into which all memory is cut if only the places of writes matter, what is in no piece, and which
 * pieces are joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "migrator/softdirty/parts.h"
#include "unit/lib/rows.h"

#define MAPPINGS 6000 /* of a process: two processes have more than there is room for */

/* Makes mappings of `n_pages` each, at multiples of `every`. */
static struct hm_maps make_maps(uint64_t n, uint64_t every, uint64_t n_pages)
{
    struct hm_maps maps = {.n = 0};
    for (uint64_t i = 1; i <= n; i++)
        assert_int_equal(hm_maps_add(&maps, (struct hm_range){i * every, n_pages}), 0);
    return maps;
}

static struct hm_softdirty *with_windows(uint32_t n)
{
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    softdirty->by_place = true;
    for (uint32_t space = 0; space < n; space++)
        softdirty->process[space].has_window = true;
    return softdirty;
}

/* Each process gets half of the room. Even its last mapping is in a piece. */
static void all_memory_of_all_processes_is_in_pieces(void **state)
{
    (void)state;
    static const uint64_t n_pages[] = {1, 8, 100, 5000};
    for (size_t i = 0; i < N_ROWS(n_pages); i++) {
        struct hm_maps maps = make_maps(MAPPINGS, 10000, n_pages[i]);
        struct hm_softdirty *softdirty = with_windows(2);
        for (uint32_t space = 0; space < 2; space++) {
            size_t n = hm_softdirty_add_all(softdirty, space, &maps, &maps, HM_SOFTDIRTY_RANGES / 2);
            assert_in_range(n, HM_SOFTDIRTY_RANGES / 8, HM_SOFTDIRTY_RANGES / 2);
        }
        for (uint32_t k = 0; k < softdirty->wanted.n; k++)
            softdirty->wanted.range[k].share = k % 2 ? 0.5F : 0.25F;
        hm_softdirty_replace(softdirty);
        for (uint32_t space = 0; space < 2; space++)
            for (size_t k = 0; k < maps.n; k++)
                assert_true(hm_softdirty_share(softdirty, HM_PAGE(space, maps.range[k].first)) >= 0 &&
                            hm_softdirty_share(softdirty,
                                               HM_PAGE(space, maps.range[k].first + maps.range[k].n_pages - 1)) >= 0);
        hm_softdirty_free(softdirty);
        hm_maps_free(&maps);
    }
}

/* The kernel marks the whole of a mapping that is new or has grown. */
static void what_has_grown_is_in_no_piece(void **state)
{
    (void)state;
    struct hm_maps begun = make_maps(3, 1000, 100), now = {.is_apart = true};
    static const struct hm_range ranges[] = {{1000, 50}, {2000, 101}, {2500, 10}, {3000, 100}, {3100, 70}};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(hm_maps_add(&now, ranges[i]), 0);
    struct hm_softdirty *softdirty = with_windows(1);
    assert_int_equal(hm_softdirty_add_all(softdirty, 0, &begun, &now, 1), 1);
    assert_int_equal(softdirty->wanted.range[0].page, 1000);
    softdirty->wanted.n = 0;
    assert_int_equal(hm_softdirty_add_all(softdirty, 0, &begun, &now, 2), 2);
    assert_int_equal(softdirty->wanted.range[0].n_pages, 50);
    assert_int_equal(softdirty->wanted.range[1].page, 3000);
    assert_int_equal(softdirty->wanted.range[1].n_pages, 100);
    /* without a window there are no ranges */
    assert_int_equal(hm_softdirty_add_all(softdirty, 1, &begun, &now, 8), 0);
    hm_softdirty_free(softdirty);
    hm_maps_free(&begun);
    hm_maps_free(&now);
}

static void by_place_neighbours_of_one_share_are_joined(void **state)
{
    (void)state;
    static const float share[] = {0, 0, 1, 1, -1, 1};
    struct hm_softdirty *softdirty = with_windows(1);
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(hm_softdirty_add(softdirty, HM_PAGE(0, 100 * i), 100));
        softdirty->wanted.range[i].share = share[i];
    }
    hm_softdirty_replace(softdirty);
    assert_int_equal(softdirty->known.n, 3);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(hm_softdirty_share(softdirty, HM_PAGE(0, 100 * i + 99)) == share[i]);
    assert_true(hm_softdirty_border(softdirty, HM_PAGE(0, 200)) == HM_PAGE(0, 400));
    hm_softdirty_free(softdirty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_memory_of_all_processes_is_in_pieces),
        cmocka_unit_test(what_has_grown_is_in_no_piece),
        cmocka_unit_test(by_place_neighbours_of_one_share_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
