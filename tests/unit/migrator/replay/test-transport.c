/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the cheapest assignment of pages to tiers against all assignments that there are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/replay/sampler.h"
#include "migrator/replay/transport.h"

#define MOST_PAGES 7

/* The cost of an assignment; INFINITY where a tier has more pages than room. */
static double cost_of(const struct hm_transport *transport, const uint8_t *tier)
{
    uint64_t used[HM_MAX_TIERS] = {0};
    double cost = 0;
    for (size_t page = 0; page < transport->n_pages; page++) {
        unsigned here = tier[page];
        assert_true(here < transport->n_tiers);
        cost += (double)transport->reads[page] * transport->read[here] +
                (double)transport->writes[page] * transport->write[here];
        if (++used[here] > transport->capacity[here] && here + 1 < transport->n_tiers)
            return INFINITY;
    }
    return cost;
}

/* The least cost of all assignments: the tiers of the pages are the digits of a number. */
static double least_cost(const struct hm_transport *transport)
{
    uint8_t tier[MOST_PAGES] = {0};
    double least = INFINITY;
    for (;;) {
        size_t page = 0;
        least = fmin(least, cost_of(transport, tier));
        while (page < transport->n_pages && ++tier[page] == transport->n_tiers)
            tier[page++] = 0;
        if (page == transport->n_pages)
            return least;
    }
}

/*
 * Two to five tiers, few and equal counts as often as many. In half of the cases the order of the tiers by reads is not
 * that by writes.
 */
static void test_no_assignment_costs_less(void **state)
{
    struct hm_random random = {1};
    (void)state;
    for (int i = 0; i < 2000; i++) {
        uint64_t reads[MOST_PAGES], writes[MOST_PAGES], most = i % 3 == 0 ? 3 : 1000000;
        uint8_t tier[MOST_PAGES];
        struct hm_transport transport = {.reads = reads, .writes = writes};
        transport.n_tiers = 2 + (unsigned)hm_random_below(&random, 4);
        transport.n_pages = 1 + hm_random_below(&random, transport.n_tiers > 3 ? 5 : MOST_PAGES);
        for (size_t page = 0; page < transport.n_pages; page++) {
            reads[page] = hm_random_below(&random, most);
            writes[page] = hm_random_below(&random, most);
        }
        for (unsigned here = 0; here < transport.n_tiers; here++) {
            double before = here > 0 && i % 2 == 0 ? 1 : 0;
            transport.read[here] = before * transport.read[here - (here > 0)] + hm_random_share(&random);
            transport.write[here] = before * transport.write[here - (here > 0)] + hm_random_share(&random);
            transport.capacity[here] = hm_random_below(&random, 4);
        }
        assert_int_equal(hm_transport_solve(&transport, tier), 0);
        double got = cost_of(&transport, tier), least = least_cost(&transport);
        if (!(got <= least * (1 + 1e-9)))
            fail_msg("case %d, %u tiers, %zu pages: %.12g, not %.12g", i, transport.n_tiers, transport.n_pages, got,
                     least);
    }
}

/* With two tiers the pages that gain most are in the first, whatever their number. */
static void test_two_tiers_are_a_sort(void **state)
{
    enum { PAGES = 20000, ROOM = 7000 };
    static uint64_t reads[PAGES], writes[PAGES];
    static uint8_t tier[PAGES];
    struct hm_random random = {2};
    struct hm_transport transport = {.n_pages = PAGES,
                                     .reads = reads,
                                     .writes = writes,
                                     .n_tiers = 2,
                                     .read = {1, 2},
                                     .write = {1, 5},
                                     .capacity = {ROOM, 0}};
    (void)state;
    for (size_t page = 0; page < PAGES; page++) {
        reads[page] = hm_random_below(&random, 1000);
        writes[page] = hm_random_below(&random, 300);
    }
    assert_int_equal(hm_transport_solve(&transport, tier), 0);
    uint64_t n_fast = 0, least_fast = UINT64_MAX, most_slow = 0;
    for (size_t page = 0; page < PAGES; page++) {
        uint64_t gain = reads[page] + 4 * writes[page];
        n_fast += tier[page] == 0;
        if (tier[page] == 0 && gain < least_fast)
            least_fast = gain;
        if (tier[page] == 1 && gain > most_slow)
            most_slow = gain;
    }
    assert_int_equal(n_fast, ROOM);
    assert_true(least_fast >= most_slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_assignment_costs_less),
        cmocka_unit_test(test_two_tiers_are_a_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
