/* SPDX-License-Identifier: Apache-2.0 */
#include "looksfixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MOST_BURSTS 20000

struct hm_damon_process process[HM_DAMON_TARGETS];
struct hm_damon_probing probing;
struct hm_damon_burst burst;
uint64_t now_ns;

struct found found[HM_DAMON_MOST_BLOCKS];
unsigned n_found;

int looks_set_up(void **state)
{
    (void)state;
    memset(&probing, 0, sizeof(probing));
    memset(process, 0, sizeof(process));
    n_found = 0;
    now_ns = 1;
    return 0;
}

void looks_add_range(unsigned p, uint64_t first, uint64_t end)
{
    process[p].range[process[p].n_ranges++] = (struct hm_damon_range){first * PAGE, end * PAGE};
}

void looks_begin(unsigned n, uint32_t budget)
{
    const struct hm_damon_needs needs = {.interval_ms = INTERVAL_MS, .budget = budget};
    hm_damon_probing_begin(&probing, process, n, &needs, now_ns);
    for (unsigned p = 0; p < n; p++)
        hm_damon_probing_set_share(&probing, p, 1);
}

uint32_t looks_some(uint64_t page, uint32_t look_us)
{
    (void)page, (void)look_us;
    return HM_DAMON_VISIT_LOOKS / 2;
}

uint32_t looks_all(uint64_t page, uint32_t look_us)
{
    (void)page, (void)look_us;
    return HM_DAMON_VISIT_LOOKS;
}

uint32_t looks_none(uint64_t page, uint32_t look_us)
{
    (void)page, (void)look_us;
    return 0;
}

/* Is the page a block by itself? */
static bool is_block(unsigned p, uint64_t page)
{
    for (uint32_t r = 0; r < process[p].n_ranges; r++) {
        uint64_t first = process[p].range[r].start / PAGE, end = process[p].range[r].end / PAGE;
        if (page >= first && page < end)
            return (page == first || page % probing.block_pages == 0) &&
                   (page + 1 == end || (page + 1) % probing.block_pages == 0);
    }
    return false;
}

/* DAMON takes pages in ascending order, and would join neighbours. */
static void check_burst(void)
{
    assert_in_range(burst.n, 1, HM_DAMON_MOST_PROBES);
    assert_in_range(burst.level, 0, HM_DAMON_LEVELS - 1);
    assert_int_equal(burst.look_us, hm_damon_level_us(burst.level));
    for (unsigned i = 1; i < burst.n; i++) {
        const struct hm_damon_probe *last = &burst.probe[i - 1], *next = &burst.probe[i];
        assert_true(next->process > last->process || (next->process == last->process && next->page > last->page));
        assert_true(next->process > last->process || next->page > last->page + 1 ||
                    is_block(next->process, next->page));
    }
}

uint32_t looks_run_burst(uses *count, double visit_s, uint32_t budget)
{
    hm_damon_probing_choose(&probing, &burst);
    check_burst();
    for (unsigned i = 0; i < burst.n; i++) {
        const struct hm_damon_probe *probe = &burst.probe[i];
        struct hm_damon_region region;
        uint32_t accesses = count(probe->page, burst.look_us);
        if (!hm_damon_probing_take(&probing, &burst, i,
                                   &(struct hm_damon_visit){accesses, HM_DAMON_VISIT_LOOKS, burst.look_us}, &region))
            continue;
        assert_true(n_found < HM_DAMON_MOST_BLOCKS);
        found[n_found].process = probe->process;
        found[n_found].page = probe->page;
        found[n_found++].region = region;
    }
    now_ns += (uint64_t)burst.look_us * HM_DAMON_VISIT_LOOKS * 1000;
    const struct hm_damon_needs needs = {.interval_ms = INTERVAL_MS, .budget = budget};
    hm_damon_probing_end(&probing, &burst, burst.n * visit_s, &needs, now_ns);
    return burst.look_us;
}

uint32_t looks_run_round(uses *count)
{
    uint32_t before = probing.rounds, look_us = 0;
    n_found = 0;
    for (int n = 0; probing.rounds == before; n++) {
        assert_true(n < MOST_BURSTS);
        look_us = looks_run_burst(count, VISIT_S, BUDGET);
    }
    assert_int_equal(probing.rounds, before + 1);
    return look_us;
}

uint64_t looks_pages_found_in(unsigned p, const struct hm_damon_range *range)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n_found; i++) {
        const struct hm_damon_region *region = &found[i].region;
        if (found[i].process != p || region->end <= range->start || region->start >= range->end)
            continue;
        assert_true(region->start >= range->start && region->end <= range->end);
        assert_in_range(found[i].page * PAGE, region->start, region->end - 1);
        bytes += region->end - region->start;
    }
    return bytes / PAGE;
}

/* As the sums are right and no two regions begin at the same address, no page is in two regions or in none. */
void looks_check_round(unsigned n)
{
    uint64_t all_pages = 0, found_pages = 0;
    for (unsigned p = 0; p < n; p++)
        for (uint32_t r = 0; r < process[p].n_ranges; r++) {
            const struct hm_damon_range *range = &process[p].range[r];
            assert_int_equal(looks_pages_found_in(p, range), (range->end - range->start) / PAGE);
            all_pages += (range->end - range->start) / PAGE;
        }
    for (unsigned i = 0; i < n_found; i++) {
        found_pages += (found[i].region.end - found[i].region.start) / PAGE;
        for (unsigned other = 0; other < i; other++)
            assert_true(found[i].process != found[other].process || found[i].region.start >= found[other].region.end ||
                        found[other].region.start >= found[i].region.end);
    }
    assert_int_equal(found_pages, all_pages);
}
