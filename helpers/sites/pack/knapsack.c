/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 0/1 knapsack, by branch and bound: items are tried hottest first, each first taken and then left out; a branch
 * ends where Dantzig's bound says that it cannot be better than the best choice so far (Martello and Toth, Knapsack
 * Problems, 1990, section 2.5). After WORK looks at items the search ends with the best choice so far; how far the
 * optimum can be above it is what the bound of all items says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"

#define WORK UINT64_C(10000000) /* some hundredths of a second */

struct search {
    const struct hm_pack_item *item;
    const size_t *order;
    size_t n;
    bool *taken, *best; /* by place in `order` */
    double value, best_value;
    uint64_t left; /* bytes */
    uint64_t work; /* items that were looked at */
};

/* The most that the items from place `from` on can add. */
static double bound_of(struct search *search, size_t from)
{
    uint64_t left = search->left;
    double value = 0;
    for (size_t i = from; i < search->n && left > 0; i++) {
        const struct hm_pack_item *item = &search->item[search->order[i]];
        search->work++;
        if (item->bytes > left)
            return value + item->value * ((double)left / (double)item->bytes);
        value += item->value;
        left -= item->bytes;
    }
    return value;
}

static void put(struct search *search, size_t place, bool is_taken)
{
    const struct hm_pack_item *item = &search->item[search->order[place]];
    search->taken[place] = is_taken;
    search->value += is_taken ? item->value : -item->value;
    search->left += is_taken ? -item->bytes : item->bytes;
}

static void keep_best(struct search *search)
{
    if (search->value <= search->best_value)
        return;
    search->work += search->n;
    search->best_value = search->value;
    memcpy(search->best, search->taken, search->n * sizeof(*search->taken));
}

/* Goes back to the last item that is taken, and leaves it out. Returns the next place; `n` + 1: there is none. */
static size_t go_back(struct search *search, size_t place)
{
    while (place > 0 && !search->taken[place - 1])
        place--;
    if (place == 0)
        return search->n + 1;
    put(search, place - 1, false);
    return place;
}

/* Returns whether the whole tree was searched. */
static bool run(struct search *search)
{
    size_t place = 0;
    for (; search->work < WORK; search->work++) {
        /* A sum of many values is rounded: a branch that is better by less is none. */
        bool is_hopeless = search->value + bound_of(search, place) <= search->best_value * (1 + 1e-12);
        if (place == search->n || is_hopeless) {
            keep_best(search);
            place = go_back(search, place);
            if (place > search->n)
                return true;
        } else {
            if (search->item[search->order[place]].bytes <= search->left)
                put(search, place, true);
            else
                search->taken[place] = false;
            place++;
        }
    }
    keep_best(search);
    return false;
}

int hm_pack_knapsack(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                     struct hm_pack_result *result)
{
    struct search search = {.item = item, .left = scene->capacity};
    size_t *order = hm_pack_sort(item, n, &search.n);
    search.order = order;
    search.taken = calloc(n + 1, sizeof(*search.taken));
    search.best = calloc(n + 1, sizeof(*search.best));
    bool has_memory = order && search.taken && search.best;
    if (has_memory) {
        result->is_exact = run(&search);
        for (size_t i = 0; i < search.n; i++)
            result->is_fast[order[i]] = search.best[i];
    }
    free(order);
    free(search.taken);
    free(search.best);
    errno = has_memory ? errno : ENOMEM;
    return has_memory ? 0 : -1;
}
