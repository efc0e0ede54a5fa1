/* SPDX-License-Identifier: Apache-2.0 */
/* Tests to which sites and slices sampled addresses belong, and which slices a profile has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "sites/record/watch.h"
#include "unit/lib/rows.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define PID 7

enum { LARGE, ORDERED, AGAIN, MIXED, LEFT, RIGHT, N_SITES };
#define BASE (UINT64_C(1) << 32)
#define SMALL 8192 /* bytes of an allocation in an order */
#define N_SMALL 512
#define PAIR (BASE + 72 * MIB + 24) /* two of 1000 bytes in one page */

static struct hm_watch *watch;
static struct hm_sites_table *table;
static struct hm_sites_block block[N_SMALL + 5];
static uint32_t n_blocks;

static void add(uint64_t address, uint64_t bytes, uint64_t before, uint32_t entry)
{
    block[n_blocks++] = (struct hm_sites_block){.address = address, .bytes = bytes, .before = before, .entry = entry};
    table->entry[entry].id = 0xa0 + entry;
    table->entry[entry].state = HM_SITES_FILLED;
    table->entry[entry].peak_bytes += (int64_t)bytes;
    if (bytes < HM_SLICES_LARGE)
        table->entry[entry].ordered_bytes += bytes;
}

/* A process with these blocks, whose file is read at the first hit. */
static int make(void **state)
{
    static struct hm_watched watched;
    (void)state;
    watch = calloc(1, sizeof(*watch));
    table = calloc(1, sizeof(*table));
    struct hm_sites_process *head = calloc(1, sizeof(*head));
    if (!watch || !table || !head)
        return -1;
    add(BASE, 8 * MIB, 0, LARGE);
    for (uint64_t i = 0; i < N_SMALL; i++)
        add(BASE + 16 * MIB + i * SMALL, SMALL, i * SMALL, ORDERED);
    add(BASE + 32 * MIB, SMALL, 100 * MIB, AGAIN);
    table->entry[AGAIN].ordered_bytes = 100 * MIB + SMALL;
    add(BASE + 48 * MIB, 8 * MIB, 0, MIXED);
    add(PAIR, 1000, 0, LEFT);
    add(PAIR + 1016, 1000, 0, RIGHT);
    head->n_blocks = n_blocks;
    watched = (struct hm_watched){.process = {.pid = PID}, .fd = memfd_create("blocks", 0)};
    if (write(watched.fd, head, sizeof(*head)) != (ssize_t)sizeof(*head) ||
        write(watched.fd, block, n_blocks * sizeof(*block)) != (ssize_t)(n_blocks * sizeof(*block)))
        return -1;
    free(head);
    watch->table = table;
    watch->watched = &watched;
    watch->n = 1;
    watch->began_ns = 1;
    watch->looked_ns = 1000000001;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    close(watch->watched[0].fd);
    free(watch->watched[0].now.range);
    free(watch->watched[0].before.range);
    free(watch);
    free(table);
    return 0;
}

static void hit(uint64_t address, int times)
{
    for (int i = 0; i < times; i++)
        hm_watch_hit(watch, PID,
                     &(struct hm_watch_hit){
                         .start = address, .end = address + 1, .mapped = 1, .reads = 1, .writes = 0.5, .samples = 1});
}

static void test_pages_are_in_slices(void **state)
{
    struct hm_profile profile = {.elapsed_s = 1};
    (void)state;
    hit(BASE, 3);
    hit(BASE + 8 * MIB - 1, 2);
    hit(BASE + 16 * MIB, 1);
    hit(BASE + 16 * MIB + 3 * 128 * KIB, 4); /* 4 MiB in 32 slices */
    hit(BASE + 32 * MIB, 5);
    hit(BASE + 48 * MIB, 1);
    watch->heat[MIXED].ordered.accesses[0] = 1.5; /* as many as those of large ones */
    assert_int_equal(hm_watch_report(watch, &(struct hm_watch_sampled){.is_known = true}, &profile), 0);
    assert_int_equal(profile.n_sites, N_SITES);
    const struct hm_slices *large = &profile.site[LARGE].slices, *ordered = &profile.site[ORDERED].slices;
    assert_true(large->is_known && large->step_bytes == 0);
    assert_float_equal(large->accesses[0], 4.5, 1e-9);
    assert_float_equal(large->accesses[31], 3, 1e-9);
    assert_float_equal(large->accesses[1], 0, 1e-9);
    assert_true(ordered->is_known && ordered->step_bytes == 128 * KIB && ordered->extent_bytes == N_SMALL * SMALL);
    assert_int_equal(hm_slices_count(ordered), 32);
    assert_float_equal(ordered->accesses[0], 1.5, 1e-9);
    assert_float_equal(ordered->accesses[3], 6, 1e-9);
    assert_false(profile.site[AGAIN].slices.is_known); /* its order is one of times */
    assert_false(profile.site[MIXED].slices.is_known); /* neither kind has nearly all */
    free(profile.site);
    free(profile.object);
}

/* Of allocations side by side, each has its own accesses, and what is between them is of none. */
static void test_sites_in_one_page(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        uint32_t entry; /* N_SITES: none */
    } rows[] = {
        {PAIR, LEFT},         {PAIR + 999, LEFT},   {PAIR + 1000, N_SITES}, {PAIR + 1015, N_SITES},
        {PAIR + 1016, RIGHT}, {PAIR + 2015, RIGHT}, {PAIR + 2016, N_SITES}, {PAIR - 1, N_SITES},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        double before[N_SITES], elsewhere = watch->elsewhere;
        for (uint32_t site = 0; site < N_SITES; site++)
            before[site] = watch->heat[site].samples;
        hit(rows[i].address, 1);
        for (uint32_t site = 0; site < N_SITES; site++)
            assert_float_equal(watch->heat[site].samples - before[site], site == rows[i].entry, 1e-9);
        assert_float_equal(watch->elsewhere - elsewhere, rows[i].entry == N_SITES ? 1.5 : 0, 1e-9);
    }
}

/* Memory that was found in use at every look counts as saturated; what was seen before another way of looking is
 * forgotten. */
static void test_looks_at_regions(void **state)
{
    struct hm_profile profile = {.elapsed_s = 1};
    (void)state;
    const struct hm_watch_sampled looked = {.is_known = true, .is_looked = true};
    struct hm_watch_hit region = {
        .start = BASE - MIB, .end = BASE + 3 * MIB, .mapped = 4 * MIB, .reads = 40, .samples = 8, .is_saturated = true};
    hm_watch_forget_hits(watch);
    hm_watch_hit(watch, PID, &region);
    region.is_saturated = false;
    hm_watch_hit(watch, PID, &region);
    assert_int_equal(hm_watch_report(watch, &looked, &profile), 0);
    assert_float_equal(profile.samples, 16, 1e-9);
    assert_float_equal(profile.elsewhere, 20, 1e-9);
    assert_float_equal(profile.saturated, 40, 1e-9);
    assert_float_equal(profile.site[LARGE].reads, 60, 1e-9);
    assert_float_equal(profile.site[LARGE].samples, 12, 1e-9);
    assert_true(profile.site[LARGE].is_untold && profile.site[LARGE].slices.is_known);
    assert_float_equal(profile.site[LARGE].slices.accesses[0], 5, 1e-9);
    assert_float_equal(profile.site[LARGE].slices.accesses[12], 0, 1e-9);
    assert_float_equal(profile.site[ORDERED].reads, 0, 1e-9);
    free(profile.site);
    free(profile.object);
    hm_watch_forget_hits(watch);
    assert_float_equal(watch->samples + watch->elsewhere + watch->saturated + watch->heat[LARGE].reads, 0, 1e-9);
    assert_float_equal(watch->heat[LARGE].large.accesses[0], 0, 1e-9);
}

/* What a program has written into its file makes no slice. */
static void test_an_order_that_is_none(void **state)
{
    (void)state;
    struct hm_sites_block wrong = {
        .address = BASE + 64 * MIB, .bytes = SMALL, .before = UINT64_MAX - 1, .entry = AGAIN};
    const struct hm_slices before = watch->heat[AGAIN].ordered;
    struct hm_sites_process head = {.n_blocks = 1, .changes = 1};
    assert_int_equal(pwrite(watch->watched[0].fd, &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(pwrite(watch->watched[0].fd, &wrong, sizeof(wrong), sizeof(head)), sizeof(wrong));
    watch->looked_ns++;
    hit(BASE + 64 * MIB, 1);
    assert_memory_equal(&watch->heat[AGAIN].ordered, &before, sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_in_slices),
        cmocka_unit_test(test_sites_in_one_page),
        cmocka_unit_test(test_looks_at_regions),
        cmocka_unit_test(test_an_order_that_is_none),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
