/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NOWHERE HM_MAX_TIERS
#define ROUNDING 1e-12 /* of the largest cost of a page: a smaller difference is none */

/* Pages that are, or were, in one tier; the one that costs least in another comes first. */
struct heap {
    unsigned from, to;
    uint32_t *page;
    size_t n, room;
};

struct solver {
    const struct hm_transport *transport;
    uint8_t *tier;
    uint64_t used[HM_MAX_TIERS];
    struct heap heap[HM_MAX_TIERS][HM_MAX_TIERS]; /* [from][to] */
    double rounding;
    bool has_no_memory;
};

static double cost(const struct solver *solver, size_t page, unsigned tier)
{
    const struct hm_transport *transport = solver->transport;
    return (double)transport->reads[page] * transport->read[tier] +
           (double)transport->writes[page] * transport->write[tier];
}

/* What it costs more to have the page in the heap's other tier. */
static double more(const struct solver *solver, const struct heap *heap, size_t page)
{
    return cost(solver, page, heap->to) - cost(solver, page, heap->from);
}

static void push(struct solver *solver, struct heap *heap, uint32_t page)
{
    if (heap->n == heap->room) {
        size_t room = heap->room > 0 ? 2 * heap->room : 64;
        uint32_t *enlarged = reallocarray(heap->page, room, sizeof(*enlarged));
        if (!enlarged) {
            solver->has_no_memory = true;
            return;
        }
        heap->page = enlarged;
        heap->room = room;
    }
    size_t at = heap->n++;
    double key = more(solver, heap, page);
    for (; at > 0 && more(solver, heap, heap->page[(at - 1) / 2]) > key; at = (at - 1) / 2)
        heap->page[at] = heap->page[(at - 1) / 2];
    heap->page[at] = page;
}

static void pop(const struct solver *solver, struct heap *heap)
{
    uint32_t last = heap->page[--heap->n];
    double key = more(solver, heap, last);
    size_t at = 0;
    for (size_t child = 1; child < heap->n; child = 2 * at + 1) {
        if (child + 1 < heap->n && more(solver, heap, heap->page[child + 1]) < more(solver, heap, heap->page[child]))
            child++;
        if (more(solver, heap, heap->page[child]) >= key)
            break;
        heap->page[at] = heap->page[child];
        at = child;
    }
    heap->page[at] = last;
}

/* Drops pages that have left the tier since. Returns whether there is a page. */
static bool has_page(struct solver *solver, struct heap *heap)
{
    while (heap->n > 0 && solver->tier[heap->page[0]] != heap->from)
        pop(solver, heap);
    return heap->n > 0;
}

static void place(struct solver *solver, uint32_t page, unsigned tier)
{
    solver->tier[page] = (uint8_t)tier;
    for (unsigned to = 0; to < solver->transport->n_tiers; to++)
        if (to != tier)
            push(solver, &solver->heap[tier][to], page);
}

/* The cheapest chain to each tier: what it costs, and the tier before it; NOWHERE: the new page goes there itself. */
struct chains {
    double cost[HM_MAX_TIERS];
    unsigned before[HM_MAX_TIERS];
};

/* Bellman and Ford's method. Each pass may lengthen the chains by one tier. */
static struct chains find_chains(struct solver *solver, size_t page)
{
    unsigned n_tiers = solver->transport->n_tiers;
    struct chains chains = {.cost = {0}};
    for (unsigned tier = 0; tier < n_tiers; tier++) {
        /* A tier without any room has no page that could give way. */
        chains.cost[tier] =
            solver->transport->capacity[tier] > 0 || tier + 1 == n_tiers ? cost(solver, page, tier) : INFINITY;
        chains.before[tier] = NOWHERE;
    }
    for (unsigned pass = 1; pass < n_tiers; pass++)
        for (unsigned from = 0; from < n_tiers; from++)
            for (unsigned to = 0; to < n_tiers; to++) {
                struct heap *heap = &solver->heap[from][to];
                if (from == to || !has_page(solver, heap))
                    continue;
                double here = chains.cost[from] + more(solver, heap, heap->page[0]);
                if (here < chains.cost[to] - solver->rounding) {
                    chains.cost[to] = here;
                    chains.before[to] = from;
                }
            }
    return chains;
}

static bool has_room(const struct solver *solver, unsigned tier)
{
    return tier + 1 == solver->transport->n_tiers || solver->used[tier] < solver->transport->capacity[tier];
}

static void add(struct solver *solver, uint32_t page)
{
    struct chains chains = find_chains(solver, page);
    unsigned last = solver->transport->n_tiers - 1;
    for (unsigned tier = last; tier-- > 0;)
        if (has_room(solver, tier) && chains.cost[tier] <= chains.cost[last])
            last = tier;
    solver->used[last]++;
    while (chains.before[last] != NOWHERE) {
        struct heap *heap = &solver->heap[chains.before[last]][last];
        place(solver, heap->page[0], last);
        last = chains.before[last];
    }
    place(solver, page, last);
}

struct ranked {
    double gain;
    uint32_t page;
};

static int compare_gain(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->gain != y->gain ? (x->gain < y->gain) - (x->gain > y->gain) : (x->page > y->page) - (x->page < y->page);
}

/* Sorts the pages by what they gain in the first tier, most first: then few of them have to give way later. */
static void rank(struct solver *solver, struct ranked *ranked)
{
    unsigned last = solver->transport->n_tiers - 1;
    for (size_t page = 0; page < solver->transport->n_pages; page++) {
        double slow = cost(solver, page, last), fast = cost(solver, page, 0);
        ranked[page] = (struct ranked){slow - fast, (uint32_t)page};
        solver->rounding = fmax(solver->rounding, ROUNDING * fmax(slow, fast));
    }
    qsort(ranked, solver->transport->n_pages, sizeof(*ranked), compare_gain);
}

int hm_transport_solve(const struct hm_transport *transport, uint8_t *tier)
{
    struct solver solver = {.transport = transport, .tier = tier};
    struct ranked *ranked = calloc(transport->n_pages + 1, sizeof(*ranked));
    solver.has_no_memory = !ranked;
    for (unsigned from = 0; from < transport->n_tiers; from++)
        for (unsigned to = 0; to < transport->n_tiers; to++)
            solver.heap[from][to] = (struct heap){.from = from, .to = to};
    if (ranked)
        rank(&solver, ranked);
    for (size_t i = 0; i < transport->n_pages && !solver.has_no_memory; i++)
        add(&solver, ranked[i].page);
    for (unsigned from = 0; from < transport->n_tiers; from++)
        for (unsigned to = 0; to < transport->n_tiers; to++)
            free(solver.heap[from][to].page);
    free(ranked);
    errno = solver.has_no_memory ? ENOMEM : errno;
    return solver.has_no_memory ? -1 : 0;
}
