/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how far the migrator believes the shares of written pages that windows saw. A window is the time from clearing
 * the soft-dirty marks of a process to reading them (softdirty.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "migrator/softdirty/parts.h"
#include "unit/lib/rows.h"

/*
 * Four ranges of 64 pages each: shares that were seen, and shares that are believed. With a quarter of 256 pages
 * written, the share of 64 pages has a standard error of 0.054.
 */
static const struct {
    float seen[4];
    double low[4], high[4];
} judged[] = {
    {{0.3f, 0.2f, 0.25f, 0.25f}, {0.25, 0.25, 0.25, 0.25}, {0.25, 0.25, 0.25, 0.25}}, /* chance */
    {{1, 1, 0, 0}, {0.98, 0.98, 0, 0}, {1, 1, 0.02, 0.02}},                           /* written and read data */
    {{0.45f, 0.25f, 0.25f, 0.05f}, {0.4, 0.25, 0.25, 0.05}, {0.45, 0.25, 0.25, 0.1}}, /* more than chance */
    {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}},
};

static void differences_by_chance_are_not_believed(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(judged); i++) {
        struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
        assert_non_null(softdirty);
        softdirty->process[0].has_window = true;
        for (uint32_t j = 0; j < 4; j++) {
            hm_softdirty_add(softdirty, HM_PAGE(0, 100 * j), 64);
            softdirty->wanted.range[j].share = judged[i].seen[j];
            softdirty->wanted.range[j].seen = 64;
        }
        hm_softdirty_add(softdirty, HM_PAGE(0, 900), 64); /* none of its pages is present */
        hm_softdirty_replace(softdirty);
        for (uint32_t j = 0; j < 4; j++)
            assert_in_range((uintmax_t)(hm_softdirty_share(softdirty, HM_PAGE(0, 100 * j)) * 1e6 + 0.5),
                            (uintmax_t)(judged[i].low[j] * 1e6), (uintmax_t)(judged[i].high[j] * 1e6));
        assert_true(hm_softdirty_share(softdirty, HM_PAGE(0, 900)) == -1);
        hm_softdirty_free(softdirty);
    }
}

/* Adds a window of the process with this number (`space`). The window saw these shares, in ranges of 64 pages. */
static void see_window(struct hm_softdirty *softdirty, uint32_t space, uint32_t n, const float *share)
{
    softdirty->process[space].has_window = true;
    for (uint32_t i = 0; i < n; i++) {
        hm_softdirty_add(softdirty, HM_PAGE(space, 100 * i), 64);
        softdirty->wanted.range[softdirty->wanted.n - 1].share = share[i];
        softdirty->wanted.range[softdirty->wanted.n - 1].seen = 64;
    }
}

static void end_windows(struct hm_softdirty *softdirty)
{
    hm_softdirty_replace(softdirty);
    for (uint32_t space = 0; space < HM_RANKS; space++)
        softdirty->process[space].has_window = false;
}

static void assert_share(const struct hm_softdirty *softdirty, uint32_t space, uint64_t page, double share)
{
    if (fabs(hm_softdirty_share(softdirty, HM_PAGE(space, page)) - share) > 0.03)
        fail_msg("space %u, page %u: %f, not %f", space, (unsigned)page,
                 hm_softdirty_share(softdirty, HM_PAGE(space, page)), share);
}

/* Both processes write the first half of their ranges. The second one's window saw fewer pages written. */
static void a_window_says_where_not_how_much(void **state)
{
    (void)state;
    static const float much[] = {0.6F, 0.6F, 0, 0}, little[] = {0.2F, 0.2F, 0, 0};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    see_window(softdirty, 0, 4, much);
    see_window(softdirty, 1, 4, little);
    end_windows(softdirty);
    for (uint32_t space = 0; space < 2; space++) {
        assert_share(softdirty, space, 30, 0.4);
        assert_share(softdirty, space, 330, 0);
    }
    hm_softdirty_free(softdirty);
}

/*
 * The second process has half of the first one's CPU time in each window, and does the same. The third one waited. No
 * ranges of the fourth are wanted, so its time does not matter.
 */
static void shares_are_of_equal_time(void **state)
{
    (void)state;
    static const float all[] = {0.36F, 0.36F, 0, 0}, half[] = {0.2F, 0.2F, 0, 0}, none[] = {0.02F, 0, 0, 0};
    static const float *const share[] = {all, half, none};
    static const double used_s[] = {0.04, 0.02, 0};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    for (int window = 0; window < 8; window++) {
        for (uint32_t space = 0; space < 3; space++) {
            see_window(softdirty, space, 4, share[space]);
            softdirty->process[space].used_s = used_s[space];
        }
        softdirty->process[3] = (struct hm_softdirty_process){.used_s = 30, .has_window = true};
        end_windows(softdirty);
    }
    assert_true(fabs(softdirty->level[0].mean - softdirty->level[1].mean) < 0.02);
    assert_int_equal(softdirty->level[2].n, 0);
    for (uint32_t space = 0; space < 2; space++)
        assert_share(softdirty, space, 30, 0.3);
    hm_softdirty_free(softdirty);
}

/* Half of each process's memory is always written. */
static void what_is_always_written_does_not_depend_on_time(void **state)
{
    (void)state;
    static const float share[] = {1, 1, 0, 0};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    for (uint32_t space = 0; space < 2; space++) {
        see_window(softdirty, space, 4, share);
        softdirty->process[space].used_s = space == 0 ? 0.04 : 0.02;
    }
    end_windows(softdirty);
    for (uint32_t space = 0; space < 2; space++)
        assert_true(fabs(softdirty->level[space].mean - 0.5) < 0.001);
    hm_softdirty_free(softdirty);
}

/* Three small ranges that are not written do not reduce how much a process writes in all. */
static void ranges_count_by_their_pages(void **state)
{
    (void)state;
    static const float share[] = {0.3F, 0, 0, 0};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    see_window(softdirty, 0, 4, share);
    for (uint32_t i = 1; i < 4; i++)
        softdirty->wanted.range[i].page += 10000;
    softdirty->wanted.range[0].n_pages = 10000;
    end_windows(softdirty);
    assert_true(fabs(softdirty->level[0].mean - 0.3) < 0.01);
    hm_softdirty_free(softdirty);
}

/* None of the first process's pages is present, and the second one waited. */
static void shares_stand_where_nobody_ran_for_long(void **state)
{
    (void)state;
    static const float share[] = {0.25F, 0.75F};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    see_window(softdirty, 0, 1, share);
    softdirty->wanted.range[0].seen = 0;
    softdirty->process[0].used_s = 0.04;
    see_window(softdirty, 1, 2, share);
    softdirty->process[1].used_s = 0.001;
    end_windows(softdirty);
    assert_int_equal(softdirty->belief.n, 0);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(1, 10)) < 0.4);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(1, 110)) > 0.6);
    hm_softdirty_free(softdirty);
}

#define MANY 64

/* The second window sees one of many pages written. That lowers how much the process is believed to write, for all of
 * its pages alike. */
static void one_written_page_does_not_say_where(void **state)
{
    (void)state;
    float share[MANY];
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    for (uint32_t i = 0; i < MANY; i++)
        share[i] = 0.25F;
    see_window(softdirty, 0, MANY, share);
    end_windows(softdirty);
    for (uint32_t i = 0; i < MANY; i++)
        share[i] = i == 9 ? 1.0F / 64 : 0;
    see_window(softdirty, 0, MANY, share);
    end_windows(softdirty);
    for (uint32_t i = 0; i < MANY; i++)
        assert_share(softdirty, 0, 100 * i, 0.125);
    hm_softdirty_free(softdirty);
}

static void memory_that_no_window_saw_has_its_processs_share(void **state)
{
    (void)state;
    static const float share[] = {0.25F};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    struct hm_observation observation = {.page = HM_PAGE(0, 5000), .n_pages = 10, .reads = 8};
    assert_non_null(softdirty);
    hm_softdirty_split(softdirty, &observation, 1);
    assert_false(observation.knows_writes); /* no window has seen any process */
    see_window(softdirty, 0, 1, share);
    end_windows(softdirty);
    hm_softdirty_split(softdirty, &observation, 1);
    assert_true(observation.knows_writes && observation.writes == 2 && observation.reads == 6);
    hm_softdirty_forget(softdirty, 0);
    assert_int_equal(softdirty->level[0].n, 0);
    hm_softdirty_free(softdirty);
}

/*
 * With by_place, shares are believed as they were seen, whatever else the process or others write. Memory that no
 * window has seen has no writes.
 */
static void by_place_no_write_is_made_up(void **state)
{
    (void)state;
    static const float share[] = {1, 0, 0.5F}, none[] = {0};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    struct hm_observation unseen = {.page = HM_PAGE(0, 5000), .n_pages = 10, .reads = 8};
    assert_non_null(softdirty);
    softdirty->by_place = true;
    see_window(softdirty, 0, 3, share);
    see_window(softdirty, 1, 1, none);
    end_windows(softdirty);
    for (uint32_t i = 0; i < 3; i++)
        assert_share(softdirty, 0, 100 * i, (double)share[i]);
    assert_share(softdirty, 1, 0, 0);
    hm_softdirty_split(softdirty, &unseen, 1);
    assert_true(unseen.reads == 8 && unseen.writes == 0);
    hm_softdirty_free(softdirty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_by_chance_are_not_believed),
        cmocka_unit_test(a_window_says_where_not_how_much),
        cmocka_unit_test(shares_are_of_equal_time),
        cmocka_unit_test(what_is_always_written_does_not_depend_on_time),
        cmocka_unit_test(ranges_count_by_their_pages),
        cmocka_unit_test(shares_stand_where_nobody_ran_for_long),
        cmocka_unit_test(one_written_page_does_not_say_where),
        cmocka_unit_test(memory_that_no_window_saw_has_its_processs_share),
        cmocka_unit_test(by_place_no_write_is_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
