/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the ranges whose share of writes is known, and soft-dirty marks on a child of this process. If the kernel has
 * no such marks, that must be reported. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/softdirty/parts.h"
#include "unit/lib/rows.h"

#define PAGE hm_page_size()
#define PAGES 512 /* pages that are written, and as many that are read */
#define SMALL 40  /* pages of a small range, half of them present */
#define WINDOWS 8

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
    for (size_t i = 0; i < N_ROWS(shares); i++)
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
    hm_softdirty_add(softdirty, HM_PAGE(2, 300), 5); /* its process has no window */
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
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_true(hm_softdirty_border(softdirty, rows[i].page) == rows[i].border);
    hm_softdirty_free(softdirty);
}

static uint64_t page_of(const volatile char *memory)
{
    return HM_PAGE(0, (uintptr_t)memory / PAGE);
}

static void each_page_of_a_small_range_is_looked_at_once(void **state)
{
    (void)state;
    struct hm_rank self = {.pid = getpid()};
    const struct hm_ranks ranks = {.rank = &self, .n = 1};
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    char *pages = mmap(NULL, SMALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && madvise(pages, SMALL * PAGE, MADV_NOHUGEPAGE) == 0);
    memset(pages, 1, SMALL / 2 * PAGE);
    for (uint32_t window = 0; window < WINDOWS; window++) { /* each begins at another place of a large range */
        softdirty->state.windows = window;
        softdirty->process[0].has_window = true;
        assert_true(hm_softdirty_add(softdirty, page_of(pages), SMALL));
        hm_softdirty_end(softdirty, &ranks);
        assert_int_equal(softdirty->known.n, 1);
        assert_int_equal(softdirty->known.range[0].seen, SMALL / 2);
    }
    munmap(pages, SMALL * PAGE);
    hm_softdirty_free(softdirty);
}

static volatile char *take_pages(void)
{
    char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE) == 0);
    memset(pages, 1, PAGES * PAGE);
    return pages;
}

/* A child that writes the first of these pages and reads the others once it is told to, and says when it has. */
static pid_t start_user(volatile char *written, const volatile char *read_only, int told, int said)
{
    unsigned sum = 0;
    char word;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
    if (read(told, &word, 1) != 1)
        _exit(1);
    for (int i = 0; i < PAGES; i++) {
        written[i * PAGE] = 2;
        sum += (unsigned char)read_only[i * PAGE];
    }
    if (sum != PAGES || write(said, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void written_pages_are_told_from_read_ones(void **state)
{
    (void)state;
    int told[2], said[2];
    char word;
    struct hm_ranks ranks;
    struct hm_softdirty *softdirty = hm_softdirty_new(0.01, 1, false, &error);
    if (!softdirty) {
        assert_int_equal(errno, ENOTSUP);
        assert_non_null(strstr(error.text, "no soft-dirty marks"));
        print_message("%s: not tested\n", error.text);
        skip();
    }
    assert_true(hm_softdirty_state(softdirty)->fault_us > 0);
    assert_true(pipe(told) == 0 && pipe(said) == 0);
    volatile char *written = take_pages(), *read_only = take_pages();
    pid_t pid = start_user(written, read_only, told[0], said[1]);
    assert_true(pid > 0 && close(told[0]) == 0 && close(said[1]) == 0);
    assert_int_equal(hm_ranks_init_list(&ranks, &pid, 1, getuid(), &error), 0);
    assert_int_equal(hm_ranks_update(&ranks, &error), 1);
    assert_int_equal(hm_softdirty_begin(softdirty, &ranks), 1);
    assert_true(write(told[1], "", 1) == 1 && read(said[0], &word, 1) == 1);
    hm_softdirty_add(softdirty, page_of(written), PAGES);
    hm_softdirty_add(softdirty, page_of(read_only), PAGES);
    hm_softdirty_end(softdirty, &ranks);
    assert_true(softdirty->process[0].used_s > 0 && softdirty->process[0].used_s < 60);
    assert_true(hm_softdirty_share(softdirty, page_of(written)) > 0.98);
    assert_true(hm_softdirty_share(softdirty, page_of(read_only)) < 0.02);
    assert_true(hm_softdirty_state(softdirty)->dirty_pages == PAGES && hm_softdirty_state(softdirty)->windows == 1);
    /* The 512 faults of this window have to be paid for before the next window begins. */
    assert_int_equal(hm_softdirty_begin(softdirty, &ranks), 0);
    assert_true(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    close(told[1]);
    close(said[0]);
    munmap((void *)(uintptr_t)written, PAGES * PAGE);
    munmap((void *)(uintptr_t)read_only, PAGES * PAGE);
    hm_softdirty_free(softdirty);
    hm_ranks_free(&ranks);
}

static const struct {
    struct hm_softdirty_walk last;
    uint64_t pages;
    double huge, least_s, most_s;
} walks[] = {
    {{0, 0}, 1000000, 0, 0.043, 0.044},
    {{0, 0}, 1000000, 0.9, 0.004, 0.005},
    {{0, 0}, UINT64_C(1) << 29, 0, 23, 24}, /* 2 TiB */
    {{1000, 0.001}, 2000, 0.9, 0.0019, 0.0021},
    {{1000, 0.001}, 2002, 0, 0.00008, 0.00009}, /* it has more than doubled */
    {{0, 0}, 0, 0, 0, 0},
};

static void a_walk_takes_as_long_as_the_last_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(walks); i++) {
        double s = hm_softdirty_walk_s(&walks[i].last, walks[i].pages, walks[i].huge);
        if (s < walks[i].least_s || s > walks[i].most_s)
            fail_msg("row %zu: %f s", i, s);
    }
    assert_true(hm_softdirty_parse_huge("anon 1000\nfile 5\nanon_thp 250\n") == 0.25);
    assert_true(hm_softdirty_parse_huge("anon 1000\nanon_thp 2000\n") == 1);
    assert_true(hm_softdirty_parse_huge("anon 1000\nshmem_anon_thp 250\n") == 0);
    assert_true(hm_softdirty_parse_huge("anon 0\nanon_thp 0\n") == 0);
    assert_true(hm_softdirty_huge_share("") == 0);
}

static void a_process_with_a_long_walk_has_no_window(void **state)
{
    (void)state;
    pid_t parent = getppid();
    struct hm_ranks ranks;
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    assert_non_null(softdirty);
    assert_int_equal(hm_ranks_init_list(&ranks, &parent, 1, getuid(), &error), 0);
    assert_int_equal(hm_ranks_update(&ranks, &error), 1);
    softdirty->process[0].walk = (struct hm_softdirty_walk){.pages = UINT64_C(1) << 40, .took_s = 1e12};
    assert_int_equal(hm_softdirty_begin(softdirty, &ranks), 0);
    assert_int_equal(hm_softdirty_state(softdirty)->n_long, 1);
    assert_int_equal(hm_softdirty_state(softdirty)->windows, 0);
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
        cmocka_unit_test(by_place_observations_are_cut_where_ranges_are),
        cmocka_unit_test(each_page_of_a_small_range_is_looked_at_once),
        cmocka_unit_test(written_pages_are_told_from_read_ones),
        cmocka_unit_test(a_walk_takes_as_long_as_the_last_one),
        cmocka_unit_test(a_process_with_a_long_walk_has_no_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
