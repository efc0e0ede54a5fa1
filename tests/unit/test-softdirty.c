/* SPDX-License-Identifier: Apache-2.0 */
/* On this very process, where the kernel has soft-dirty marks; where it has none, it has to be said. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers/migrator/softdirtyparts.h"

#define PAGE 4096
#define PAGES 512 /* of each kind */

static struct hm_error error;

static void set_known(struct hm_softdirty *softdirty, uint64_t page, uint64_t n_pages, float share)
{
    softdirty->known.range[softdirty->known.n++] =
        (struct hm_softdirty_range){.page = page, .n_pages = n_pages, .share = share};
}

static struct hm_softdirty *with_ranges(void)
{
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    set_known(softdirty, HM_PAGE(0, 100), 10, 0.25f);
    set_known(softdirty, HM_PAGE(0, 110), 10, -1);
    set_known(softdirty, HM_PAGE(2, 50), 100, 1);
    return softdirty;
}

static const struct {
    uint64_t page;
    double share;
} shares[] = {
    {HM_PAGE(0, 0), -1},     {HM_PAGE(0, 99), -1},  {HM_PAGE(0, 100), 0.25},
    {HM_PAGE(0, 109), 0.25}, {HM_PAGE(0, 110), -1}, {HM_PAGE(0, 120), -1},
    {HM_PAGE(1, 105), -1},   {HM_PAGE(2, 149), 1},  {HM_PAGE(2, 150), -1},
};

static void shares_are_found_by_page(void **state)
{
    (void)state;
    struct hm_softdirty *softdirty = with_ranges();
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        assert_true(hm_softdirty_share(softdirty, shares[i].page) == shares[i].share);
    hm_softdirty_free(softdirty);
}

static void observations_are_split_where_the_share_is_known(void **state)
{
    (void)state;
    struct hm_softdirty *softdirty = with_ranges();
    struct hm_observation observations[] = {
        {.page = HM_PAGE(0, 98), .n_pages = 8, .reads = 8}, /* its middle is in the first range */
        {.page = HM_PAGE(0, 110), .n_pages = 1, .reads = 8},
        {.page = HM_PAGE(2, 60), .n_pages = 1, .reads = 8},
        {.page = HM_PAGE(2, 60), .n_pages = 1, .reads = 6, .writes = 2, .knows_writes = true},
    };
    hm_softdirty_split(softdirty, observations, 4);
    assert_true(observations[0].reads == 6 && observations[0].writes == 2 && observations[0].knows_writes);
    assert_true(observations[1].reads == 8 && observations[1].writes == 0 && !observations[1].knows_writes);
    assert_true(observations[2].reads == 0 && observations[2].writes == 8 && observations[2].knows_writes);
    assert_true(observations[3].reads == 6 && observations[3].writes == 2);
    hm_softdirty_free(softdirty);
}

static void a_process_that_is_forgotten_leaves_no_range(void **state)
{
    (void)state;
    struct hm_softdirty *softdirty = with_ranges();
    hm_softdirty_forget(softdirty, 0);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(0, 100)) == -1);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(2, 60)) == 1);
    hm_softdirty_forget(softdirty, UINT32_MAX);
    hm_softdirty_free(softdirty);
}

static void a_windows_ranges_replace_those_of_its_processes(void **state)
{
    (void)state;
    struct hm_softdirty *softdirty = with_ranges();
    softdirty->process[0].has_window = true;
    hm_softdirty_add(softdirty, HM_PAGE(0, 300), 5);
    hm_softdirty_add(softdirty, HM_PAGE(2, 300), 5); /* has no window */
    hm_softdirty_add(softdirty, HM_PAGE(0, 400), 0);
    softdirty->wanted.range[0].share = 0.5f;
    hm_softdirty_replace(softdirty);
    assert_int_equal(softdirty->known.n, 2);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(0, 301)) == 0.5);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(0, 100)) == -1);
    assert_true(hm_softdirty_share(softdirty, HM_PAGE(2, 60)) == 1);
    for (uint64_t i = 0; i < HM_SOFTDIRTY_RANGES + 10; i++)
        hm_softdirty_add(softdirty, HM_PAGE(0, 1000 + i), 1);
    hm_softdirty_replace(softdirty);
    assert_int_equal(softdirty->known.n, HM_SOFTDIRTY_RANGES);
    hm_softdirty_free(softdirty);
}

/* Four ranges of 64 pages each: what they had, and what is believed. Of 256 pages with a quarter written, shares of 64
 * have a standard error of 0.054. */
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
    for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
        struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
        assert_non_null(softdirty);
        softdirty->process[0].has_window = true;
        for (uint32_t j = 0; j < 4; j++) {
            hm_softdirty_add(softdirty, HM_PAGE(0, 100 * j), 64);
            softdirty->wanted.range[j].share = judged[i].seen[j];
            softdirty->wanted.range[j].seen = 64;
        }
        hm_softdirty_add(softdirty, HM_PAGE(0, 900), 64); /* nothing of it is present */
        hm_softdirty_replace(softdirty);
        for (uint32_t j = 0; j < 4; j++)
            assert_in_range((uintmax_t)(hm_softdirty_share(softdirty, HM_PAGE(0, 100 * j)) * 1e6 + 0.5),
                            (uintmax_t)(judged[i].low[j] * 1e6), (uintmax_t)(judged[i].high[j] * 1e6));
        assert_true(hm_softdirty_share(softdirty, HM_PAGE(0, 900)) == -1);
        hm_softdirty_free(softdirty);
    }
}

/* A window of the process saw these shares in its ranges of 64 pages. */
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

/* One of the processes was seen when it ran less. In both the first half of the ranges is written. */
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

/* The other one shares its processor, window after window, and does the same in less time; a third one waited. Of a
 * fourth nothing is wanted: how long it ran does not matter. */
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

/* Half of each is always written. */
static void what_is_always_written_takes_no_time(void **state)
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

/* What a process writes in all is not less for all the small ranges that it does not write. */
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

/* Nothing of what the first one uses is there, and the other one waited. */
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

/* One page of many was written when the process waited: it was not the only one that it ever writes. */
static void an_idle_window_tells_nothing(void **state)
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

static void what_no_window_saw_has_its_processs_share(void **state)
{
    (void)state;
    static const float share[] = {0.25F};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    struct hm_observation observation = {.page = HM_PAGE(0, 5000), .n_pages = 10, .reads = 8};
    assert_non_null(softdirty);
    hm_softdirty_split(softdirty, &observation, 1);
    assert_false(observation.knows_writes); /* nothing was seen of anybody */
    see_window(softdirty, 0, 1, share);
    end_windows(softdirty);
    hm_softdirty_split(softdirty, &observation, 1);
    assert_true(observation.knows_writes && observation.writes == 2 && observation.reads == 6);
    hm_softdirty_forget(softdirty, 0);
    assert_int_equal(softdirty->level[0].n, 0);
    hm_softdirty_free(softdirty);
}

/* By place: what is only read is as cold as it was seen, whatever else its process or another one writes. */
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

static void by_place_observations_are_cut_where_ranges_are(void **state)
{
    (void)state;
    struct hm_softdirty *softdirty = with_ranges();
    assert_true(hm_softdirty_border(softdirty, HM_PAGE(0, 105)) == UINT64_MAX);
    softdirty->by_place = true;
    static const struct {
        uint64_t page, border;
    } rows[] = {{HM_PAGE(0, 0), HM_PAGE(0, 100)},   {HM_PAGE(0, 99), HM_PAGE(0, 100)},
                {HM_PAGE(0, 100), HM_PAGE(0, 110)}, {HM_PAGE(0, 119), HM_PAGE(0, 120)},
                {HM_PAGE(0, 120), HM_PAGE(2, 50)},  {HM_PAGE(2, 149), HM_PAGE(2, 150)},
                {HM_PAGE(2, 150), UINT64_MAX}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(hm_softdirty_border(softdirty, rows[i].page) == rows[i].border);
    hm_softdirty_free(softdirty);
}

static uint64_t page_of(const volatile char *memory)
{
    return HM_PAGE(0, (uintptr_t)memory / PAGE);
}

static volatile char *take_pages(void)
{
    char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE) == 0);
    memset(pages, 1, PAGES * PAGE);
    return pages;
}

static void written_pages_are_told_from_read_ones(void **state)
{
    (void)state;
    pid_t self = getpid();
    struct hm_ranks ranks;
    struct hm_softdirty *softdirty = hm_softdirty_new(0.01, 1, false, &error);
    if (!softdirty) {
        assert_int_equal(errno, ENOTSUP);
        assert_non_null(strstr(error.text, "no soft-dirty marks"));
        return;
    }
    assert_true(hm_softdirty_state(softdirty)->fault_us > 0);
    assert_int_equal(hm_ranks_init_list(&ranks, &self, 1, getuid(), &error), 0);
    assert_int_equal(hm_ranks_update(&ranks, &error), 1);
    volatile char *written = take_pages(), *read = take_pages();
    assert_int_equal(hm_softdirty_begin(softdirty, &ranks), 1);
    unsigned sum = 0;
    for (int i = 0; i < PAGES; i++) {
        written[i * PAGE] = 2;
        sum += (unsigned char)read[i * PAGE];
    }
    assert_int_equal(sum, PAGES);
    hm_softdirty_add(softdirty, page_of(written), PAGES);
    hm_softdirty_add(softdirty, page_of(read), PAGES);
    hm_softdirty_end(softdirty, &ranks);
    assert_true(softdirty->process[0].used_s > 0 && softdirty->process[0].used_s < 60);
    assert_true(hm_softdirty_share(softdirty, page_of(written)) > 0.98);
    assert_true(hm_softdirty_share(softdirty, page_of(read)) < 0.02);
    assert_true(hm_softdirty_state(softdirty)->dirty_pages == PAGES && hm_softdirty_state(softdirty)->windows == 1);
    /* 512 faults are not paid for at once. */
    assert_int_equal(hm_softdirty_begin(softdirty, &ranks), 0);
    munmap((void *)(uintptr_t)written, PAGES * PAGE);
    munmap((void *)(uintptr_t)read, PAGES * PAGE);
    hm_softdirty_free(softdirty);
    hm_ranks_free(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_found_by_page),
        cmocka_unit_test(observations_are_split_where_the_share_is_known),
        cmocka_unit_test(a_process_that_is_forgotten_leaves_no_range),
        cmocka_unit_test(a_windows_ranges_replace_those_of_its_processes),
        cmocka_unit_test(differences_by_chance_are_not_believed),
        cmocka_unit_test(a_window_says_where_not_how_much),
        cmocka_unit_test(shares_are_of_equal_time),
        cmocka_unit_test(what_is_always_written_takes_no_time),
        cmocka_unit_test(ranges_count_by_their_pages),
        cmocka_unit_test(shares_stand_where_nobody_ran_for_long),
        cmocka_unit_test(an_idle_window_tells_nothing),
        cmocka_unit_test(what_no_window_saw_has_its_processs_share),
        cmocka_unit_test(by_place_no_write_is_made_up),
        cmocka_unit_test(by_place_observations_are_cut_where_ranges_are),
        cmocka_unit_test(written_pages_are_told_from_read_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
