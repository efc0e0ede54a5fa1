/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the search for present pages in mappings of this process, with the running kernel, and as if that kernel were
 * older and had no PAGEMAP_SCAN. Calls are counted, not timed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/move/present.h"
#include "unit/lib/rows.h"

#define PAGE hm_page_size()
#define TIB_PAGES (UINT64_C(1) << 28)
#define MOST_ROOM 8192 /* pages of a huge page where pages have 64 KiB */
/* pages that this process pretends to have mapped: next to none of them is present */
#define SPARSE (UINT64_C(1) << 45)

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
ssize_t __real_pread(int fd, void *out, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);

static struct hm_present present;
static int refusal; /* errno of PAGEMAP_SCAN; 0: the kernel's own answer */
static unsigned n_scans, n_reads;
static uint64_t found[8192];
static bool may_be_huge[MOST_ROOM], is_file[MOST_ROOM];

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
    n_scans++;
    if (refusal == 0)
        return __real_ioctl(fd, request, argument);
    errno = refusal;
    return -1;
}

ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at)
{
    n_reads++;
    return __real_pread(fd, out, size, at);
}

static void start(bool is_older, uint64_t mapped)
{
    refusal = is_older ? ENOTTY : 0;
    n_scans = n_reads = 0;
    hm_present_init(&present);
    hm_present_open(&present, getpid(), mapped);
    assert_true(present.pagemap >= 0);
}

/* Starts with PAGEMAP_SCAN. Where the kernel or a container does not allow it, skips the test, with a message. */
static void start_with_scan(void)
{
    start(false, SPARSE);
    hm_present_begin(&present, 0, 1, 0);
    hm_present_next(&present, found, may_be_huge, is_file, MOST_ROOM);
    n_scans = n_reads = 0;
    if (present.has_scan)
        return;
    hm_present_close(&present);
    print_message("no PAGEMAP_SCAN here: not tested\n");
    skip();
}

static char *map(uint64_t n_pages)
{
    char *pages =
        mmap(NULL, n_pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    madvise(pages, n_pages * PAGE, MADV_NOHUGEPAGE);
    return pages;
}

static uint64_t page_of(const char *pages)
{
    return (uintptr_t)pages / PAGE;
}

/* Collects all pages in found[]. Checks that pages that can be of one huge page come from the same call. */
static size_t look(uint64_t first, uint64_t n_pages, uint64_t turn)
{
    size_t n = 0, room = hm_page_size() > 4096 ? MOST_ROOM : 1024;
    hm_present_begin(&present, first, first + n_pages, turn);
    for (;;) {
        uint64_t page[MOST_ROOM];
        size_t more = hm_present_next(&present, page, may_be_huge, is_file, room);
        assert_true(more <= room);
        if (more == 0)
            return n;
        assert_true(n == 0 || page[0] / hm_huge_pages() != found[n - 1] / hm_huge_pages());
        assert_true(n + more <= N_ROWS(found));
        memcpy(found + n, page, more * sizeof(page[0]));
        n += more;
    }
}

/* A TiB with three present pages. */
static const uint64_t touched[] = {7, TIB_PAGES / 2, TIB_PAGES - 1};

static char *map_a_tib(void)
{
    char *pages = map(TIB_PAGES);
    for (size_t i = 0; i < 3; i++)
        pages[touched[i] * PAGE] = 1;
    return pages;
}

static void test_a_tib_of_holes_by_scan(void **state)
{
    (void)state;
    start_with_scan();
    char *pages = map_a_tib();
    assert_int_equal(look(page_of(pages), TIB_PAGES, 0), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(found[i], page_of(pages) + touched[i]);
    assert_int_equal(n_reads, 0);
    assert_true(n_scans <= 16); /* one call for 64 GiB */
    hm_present_close(&present);
    munmap(pages, TIB_PAGES * PAGE);
}

static void test_a_tib_of_holes_by_page_map(void **state)
{
    (void)state;
    char *pages = map_a_tib();
    start(true, SPARSE);
    assert_int_equal(look(page_of(pages), TIB_PAGES, 0), 1); /* the search ended before the second page */
    assert_int_equal(found[0], page_of(pages) + touched[0]);
    assert_int_equal(n_scans, 1);
    assert_true(n_reads <= HM_PRESENT_MISSING / HM_PRESENT_ENTRIES + 1);
    hm_present_close(&present);
    munmap(pages, TIB_PAGES * PAGE);
}

/* If one turn cannot look at all memory, each odd turn begins at another place. */
static void test_later_turns_reach_the_rest(void **state)
{
    (void)state;
    const uint64_t n_pages = 8 * HM_PRESENT_MISSING;
    char *pages = map(n_pages);
    unsigned by_turn[2] = {0};
    pages[(n_pages - 1000) * PAGE] = 1;
    for (uint64_t turn = 0; turn < 64; turn++) {
        start(true, SPARSE);
        present.has_scan = false; /* known from an earlier turn */
        by_turn[turn % 2] += look(page_of(pages), n_pages, turn) > 0;
        assert_true(n_reads <= HM_PRESENT_MISSING / HM_PRESENT_ENTRIES + 2);
        hm_present_close(&present);
    }
    assert_int_equal(by_turn[0], 0);
    assert_in_range(by_turn[1], 2, 8); /* each odd turn begins elsewhere, and reads about an eighth of the pages */
    munmap(pages, n_pages * PAGE);
}

/* Each present page that is found lets the search go on for longer. */
static void test_dense_memory_is_found_whole(void **state)
{
    (void)state;
    const uint64_t n_pages = 4 * HM_PRESENT_MISSING;
    char *pages = map(n_pages);
    for (uint64_t i = 0; i < 1000; i++)
        pages[i * PAGE] = pages[(n_pages - 1000 + i) * PAGE] = 1;
    start(true, SPARSE);
    assert_int_equal(look(page_of(pages), n_pages, 0), 1000);
    hm_present_close(&present);
    /* as if this process had little other memory */
    start(true, n_pages);
    assert_int_equal(look(page_of(pages), n_pages, 1), 2000);
    hm_present_close(&present);
    for (uint64_t i = 1000; i < 5000; i++)
        pages[i * PAGE] = 1;
    start(true, SPARSE);
    assert_int_equal(look(page_of(pages), n_pages, 0), 6000);
    hm_present_close(&present);
    munmap(pages, n_pages * PAGE);
}

static bool is_touched(unsigned pattern, uint64_t page)
{
    return pattern == 0 ? true : pattern == 1 ? page % 2 == 0 : page % 700 < 300 || page % 997 == 5;
}

/* Checks that all pages of the pattern are found, each once, and no others; `turn` as in hm_present_begin(). */
static void assert_every_page_once(unsigned pattern, uint64_t turn)
{
    const uint64_t n_pages = 8192;
    char *pages = map(n_pages);
    size_t n_touched = 0;
    for (uint64_t i = 0; i < n_pages; i++)
        if (is_touched(pattern, i))
            pages[i * PAGE] = 1;
    size_t n = look(page_of(pages) + 3, n_pages - 10, turn);
    for (uint64_t i = 3; i < n_pages - 7; i++) {
        if (!is_touched(pattern, i))
            continue;
        assert_true(n_touched < n);
        assert_int_equal(found[n_touched++], page_of(pages) + i);
    }
    assert_int_equal(n, n_touched);
    assert_int_equal(look(page_of(pages) + 3, 0, 1), 0);
    hm_present_close(&present);
    munmap(pages, n_pages * PAGE);
}

static void test_every_page_once_by_scan(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < 3; pattern++) {
        start_with_scan();
        assert_every_page_once(pattern, 2 * pattern);
        assert_int_equal(n_reads, 0);
    }
}

static void test_every_page_once_by_page_map(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < 3; pattern++) {
        start(true, SPARSE);
        assert_every_page_once(pattern, 2 * pattern + 1);
    }
}

/* Pages that were only read are the zero page, which is on no node. */
static char *map_and_read(uint64_t n_pages)
{
    char *pages = map(n_pages);
    unsigned sum = 0;
    for (uint64_t i = 0; i < n_pages; i++)
        sum += ((volatile char *)pages)[i * PAGE];
    assert_int_equal(sum, 0);
    pages[n_pages / 2 * PAGE] = 1;
    return pages;
}

static void test_pages_that_were_only_read_by_scan(void **state)
{
    (void)state;
    start_with_scan();
    char *pages = map_and_read(600);
    assert_int_equal(look(page_of(pages), 600, 0), 1);
    hm_present_close(&present);
    munmap(pages, 600 * PAGE);
}

static void test_pages_that_were_only_read_by_page_map(void **state)
{
    (void)state;
    char *pages = map_and_read(600);
    start(true, SPARSE);
    assert_int_equal(look(page_of(pages), 600, 0), 600); /* the page map shows the zero page like any other */
    hm_present_close(&present);
    munmap(pages, 600 * PAGE);
}

/* Eight pages, the last four of which are shared: each is found, and known for what it is. */
static void assert_shared_pages_are_told(void)
{
    char *pages = map(8);
    assert_ptr_equal(
        mmap(pages + 4 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0),
        pages + 4 * PAGE);
    memset(pages, 1, 8 * PAGE);
    memset(is_file, 0, sizeof(is_file));
    assert_int_equal(look(page_of(pages), 8, 0), 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(is_file[i], i >= 4);
    hm_present_close(&present);
    munmap(pages, 8 * PAGE);
}

static void test_shared_pages_by_scan(void **state)
{
    (void)state;
    start_with_scan();
    assert_shared_pages_are_told();
    assert_int_equal(n_reads, 0);
}

static void test_shared_pages_by_page_map(void **state)
{
    (void)state;
    start(true, SPARSE);
    assert_shared_pages_are_told();
}

/* More runs than there is place for: in one entry of the page map the next run begins. */
static void test_every_other_page_shared_by_page_map(void **state)
{
    (void)state;
    const uint64_t n_pages = 2 * HM_PRESENT_ENTRIES;
    char *pages = map(n_pages);
    for (uint64_t i = 0; i < n_pages; i += 2)
        assert_ptr_equal(
            mmap(pages + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0),
            pages + i * PAGE);
    for (uint64_t i = 0; i < n_pages; i++)
        pages[i * PAGE] = 1;
    start(true, SPARSE);
    hm_present_begin(&present, page_of(pages), page_of(pages) + n_pages, 0);
    uint64_t page[MOST_ROOM];
    size_t n = 0;
    for (size_t more; (more = hm_present_next(&present, page, may_be_huge, is_file, MOST_ROOM)) > 0; n += more)
        for (size_t i = 0; i < more; i++) {
            assert_int_equal(page[i], page_of(pages) + n + i);
            assert_int_equal(is_file[i], (n + i) % 2 == 0);
        }
    assert_int_equal(n, n_pages);
    hm_present_close(&present);
    munmap(pages, n_pages * PAGE);
}

/* A kernel that had no memory for the call is asked again; one that does not know it is not. */
static void test_a_passing_failure_of_the_scan(void **state)
{
    (void)state;
    static const struct {
        int number;
        bool stays;
    } rows[] = {{ENOMEM, true}, {EINTR, true}, {ENOTTY, false}, {EINVAL, false}, {EPERM, false}};
    char *pages = map(8);
    memset(pages, 1, 8 * PAGE);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        start(false, SPARSE);
        refusal = rows[i].number;
        assert_int_equal(look(page_of(pages), 8, 0), 8);
        assert_int_equal(n_reads, 1);
        assert_int_equal(present.has_scan, rows[i].stays);
        hm_present_close(&present);
    }
    munmap(pages, 8 * PAGE);
}

static void test_without_a_page_map(void **state)
{
    (void)state;
    hm_present_init(&present);
    hm_present_open(&present, -1, SPARSE);
    assert_int_equal(present.pagemap, -1);
    assert_int_equal(look(100, 5000, 1), 5000); /* every page counts as present */
    assert_int_equal(found[4999], 5099);
    hm_present_close(&present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tib_of_holes_by_scan),
        cmocka_unit_test(test_a_tib_of_holes_by_page_map),
        cmocka_unit_test(test_later_turns_reach_the_rest),
        cmocka_unit_test(test_dense_memory_is_found_whole),
        cmocka_unit_test(test_every_page_once_by_scan),
        cmocka_unit_test(test_every_page_once_by_page_map),
        cmocka_unit_test(test_pages_that_were_only_read_by_scan),
        cmocka_unit_test(test_pages_that_were_only_read_by_page_map),
        cmocka_unit_test(test_shared_pages_by_scan),
        cmocka_unit_test(test_shared_pages_by_page_map),
        cmocka_unit_test(test_every_other_page_shared_by_page_map),
        cmocka_unit_test(test_a_passing_failure_of_the_scan),
        cmocka_unit_test(test_without_a_page_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
