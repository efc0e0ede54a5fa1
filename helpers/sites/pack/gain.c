/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packer that counts what hm_pack_result.score has: with what the tiers cost, when items are there, and the
 * bandwidth of both tiers. It begins with the choice of each other packer, with none, and with the items that find room
 * by their value per byte, so that one that is there for long comes before many that are there shortly; and changes
 * each as long as that gains something: one item or two are put in, or left out, and others make room for them, or fill
 * the room. The best is taken, so it is never worse than the others. After WORK looks at items it ends with what it
 * has. Of a FEW items all choices are tried. Then one item may get a limit (limit.c). As with thermos and hotset, a
 * choice is at no time over the capacity by as much as its largest item has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "meter.h"

#define WORK UINT64_C(40000000) /* some tenths of a second */
#define FEW 12                  /* items of which all choices are tried */
#define LESS (1 - 1e-12)        /* the same of a loss */
#define MOST (4 * HM_PACK_MOST) /* bytes of a choice, so that no sum overflows */

struct choice {
    bool *is_fast; /* by item */
    struct hm_pack_sum sum;
    double score;
};

/* Items in an order. */
struct list {
    size_t *at, n;
};

struct search {
    struct hm_pack_meter meter;
    size_t n;
    struct choice best, tried; /* of one beginning */
    struct choice overall;     /* the best of all */
    struct list hottest;       /* as meter.order */
    struct list by_bytes;      /* by the value per byte, at any time */
    uint64_t work, most_work;  /* items in parts that were, and may be, looked at */
};

static void copy(const struct search *search, struct choice *to, const struct choice *from)
{
    memcpy(to->is_fast, from->is_fast, search->n * sizeof(*to->is_fast));
    to->sum = from->sum;
    to->score = from->score;
}

static void put(const struct search *search, struct choice *choice, size_t at, bool is_fast)
{
    if (choice->is_fast[at] == is_fast)
        return;
    choice->is_fast[at] = is_fast;
    if (is_fast)
        hm_pack_add(&search->meter, &choice->sum, at);
    else
        hm_pack_take_away(&search->meter, &choice->sum, at);
}

/* Has the choice room for the item at any time, up to this many bytes? One that is larger has it where nothing else is.
 */
static bool has_room(struct search *search, const struct choice *choice, size_t at, uint64_t bytes)
{
    const struct hm_pack_meter *meter = &search->meter;
    for (int part = meter->range[at].first; part < meter->range[at].end; part++) {
        uint64_t of_it = hm_least(hm_pack_bytes_in(meter, at, part), bytes);
        search->work++;
        if (of_it > 0 && (choice->sum.bytes[part] > bytes || of_it > bytes - choice->sum.bytes[part]))
            return false;
    }
    return true;
}

static uint64_t largest_bytes(const struct search *search, const struct choice *choice)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < search->meter.n_used; i++)
        if (choice->is_fast[search->meter.order[i]])
            largest = hm_most(largest, search->meter.item[search->meter.order[i]].bytes);
    return largest;
}

/* Negative: it is not allowed, as it is over the capacity at some time by as much as its largest item has. */
static double score_of(struct search *search, const struct choice *choice)
{
    const struct hm_pack_meter *meter = &search->meter;
    uint64_t over = hm_less(hm_pack_most(meter, &choice->sum), meter->scene->capacity);
    if (over == 0)
        return hm_pack_score(meter->scene, choice->sum.value);
    search->work += meter->n_used + choice->sum.n_looks;
    if (over >= largest_bytes(search, choice))
        return -1;
    return hm_pack_score(meter->scene, hm_pack_kept(meter, &choice->sum, choice->is_fast));
}

/* Takes what is tried where it is better. Returns whether it is. */
static bool keep_better(struct search *search)
{
    search->tried.score = score_of(search, &search->tried);
    if (!(search->tried.score > search->best.score * HM_PACK_BETTER))
        return false;
    copy(search, &search->best, &search->tried);
    return true;
}

/* Puts items that find room into what is tried, in this order, but for `without`, where more is better. */
static void fill(struct search *search, struct list list, size_t without)
{
    const struct hm_pack_meter *meter = &search->meter;
    struct choice *tried = &search->tried;
    double score = hm_pack_score(meter->scene, tried->sum.value);
    for (size_t i = 0; i < list.n; i++) {
        size_t at = list.at[i];
        search->work++;
        if (at == without || tried->is_fast[at] || !has_room(search, tried, at, meter->scene->capacity))
            continue;
        double more = hm_pack_score(meter->scene, tried->sum.value + meter->item[at].value);
        if (more <= score)
            continue; /* the slow tier's bandwidth serves it better */
        put(search, tried, at, true);
        score = more;
    }
}

/* Leaves the coldest items out of what is tried that stand in the way of `of`, until there is room. */
static void make_room(struct search *search, size_t of)
{
    const struct hm_pack_meter *meter = &search->meter;
    struct choice *tried = &search->tried;
    for (size_t i = meter->n_used; i-- > 0 && hm_pack_most(meter, &tried->sum) > meter->scene->capacity;) {
        size_t at = meter->order[i];
        search->work += (uint64_t)(meter->range[at].end - meter->range[at].first);
        for (int part = meter->range[at].first; part < meter->range[at].end && at != of && tried->is_fast[at]; part++)
            if (tried->sum.bytes[part] > meter->scene->capacity && hm_pack_bytes_in(meter, at, part) > 0)
                put(search, tried, at, false);
    }
}

/* Begins to try the best choice with an item put in, or left out. Returns whether it can be. */
static bool flip(struct search *search, size_t at)
{
    bool is_fast = search->tried.is_fast[at];
    if (!is_fast && !has_room(search, &search->tried, at, MOST))
        return false;
    put(search, &search->tried, at, !is_fast);
    return true;
}

/* Tries the best choice with one item put in or left out. Returns whether that is better. */
static bool change_one(struct search *search, size_t at)
{
    bool is_fast = search->best.is_fast[at];
    copy(search, &search->tried, &search->best);
    search->work += search->meter.n_used;
    if (!flip(search, at))
        return false;
    if (keep_better(search))
        return true;
    if (!is_fast)
        make_room(search, at);
    fill(search, search->hottest, is_fast ? at : search->n);
    return keep_better(search);
}

/* Tries the best choice with one item, and each of those behind it in the order, put in or left out. */
static bool change_two(struct search *search, size_t first)
{
    const struct hm_pack_meter *meter = &search->meter;
    for (size_t i = first + 1; i < meter->n_used && search->work < search->most_work; i++) {
        copy(search, &search->tried, &search->best);
        search->work += meter->n_used;
        if (flip(search, meter->order[first]) && flip(search, meter->order[i]) && keep_better(search))
            return true;
        fill(search, search->hottest, search->n);
        if (keep_better(search))
            return true;
    }
    return false;
}

/* Begins with what a packer takes; with none where it is this one, and, where it is NULL, by value per byte. Returns 0,
 * or -1 (ENOMEM). */
static int begin(struct search *search, const struct hm_packer *packer)
{
    struct choice *tried = &search->tried;
    struct hm_pack_result result = {.is_fast = tried->is_fast};
    memset(tried->is_fast, 0, search->n * sizeof(*tried->is_fast));
    tried->sum = (struct hm_pack_sum){.value = 0};
    if (packer && packer->pack != hm_pack_gain &&
        packer->pack(search->meter.scene, search->meter.item, search->n, &result) < 0)
        return -1;
    for (size_t i = 0; i < search->n; i++)
        if (tried->is_fast[i])
            hm_pack_add(&search->meter, &tried->sum, i);
    search->best.score = -1;
    keep_better(search);
    fill(search, packer ? search->hottest : search->by_bytes, search->n);
    keep_better(search);
    return 0;
}

/* Tries all choices, each different from the one before by one item (Gray's code). */
static void try_all(struct search *search)
{
    const struct hm_pack_meter *meter = &search->meter;
    copy(search, &search->tried, &search->best);
    for (unsigned i = 1; i < 1u << meter->n_used; i++) {
        size_t at = meter->order[__builtin_ctz(i)];
        put(search, &search->tried, at, !search->tried.is_fast[at]);
        keep_better(search);
    }
}

/* Changes the best choice as long as that gains something. */
static void improve(struct search *search)
{
    const struct hm_pack_meter *meter = &search->meter;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t i = 0; i < meter->n_used && search->work < search->most_work; i++)
            goes_on = change_one(search, meter->order[i]) || goes_on;
        for (size_t i = 0; i < meter->n_used && !goes_on; i++)
            goes_on = change_two(search, i);
    }
}

/* Leaves out what gains nothing, such as items of which no byte finds room; the hottest first, as long as there is
 * time.
 */
static void leave_out(struct search *search)
{
    const struct hm_pack_meter *meter = &search->meter;
    struct choice *tried = &search->tried;
    copy(search, tried, &search->overall);
    search->most_work = search->work + WORK;
    for (size_t i = 0; i < meter->n_used && search->work < search->most_work; i++) {
        size_t at = meter->order[i];
        if (!tried->is_fast[at])
            continue;
        put(search, tried, at, false);
        if (score_of(search, tried) < search->overall.score * LESS)
            put(search, tried, at, true);
    }
    copy(search, &search->overall, tried);
}

static int run(struct search *search)
{
    size_t n = 1;
    while (hm_packer_at(n - 1))
        n++;
    search->overall.score = -1;
    search->hottest = (struct list){search->meter.order, search->meter.n_used};
    for (size_t i = 0; i < n; i++) {
        if (begin(search, hm_packer_at(i)) < 0)
            return -1;
        search->most_work = WORK / n * (i + 1);
        if (search->meter.n_used > FEW)
            improve(search);
        else if (i == 0)
            try_all(search);
        if (search->best.score > search->overall.score)
            copy(search, &search->overall, &search->best);
    }
    leave_out(search);
    return 0;
}

int hm_pack_gain(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                 struct hm_pack_result *result)
{
    struct search search = {.n = n};
    search.best.is_fast = calloc(n + 1, sizeof(bool));
    search.tried.is_fast = calloc(n + 1, sizeof(bool));
    search.overall.is_fast = calloc(n + 1, sizeof(bool));
    search.by_bytes.at = hm_pack_sort(item, n, &search.by_bytes.n);
    bool has_memory = hm_pack_meter_open(&search.meter, scene, item, n) == 0 && search.by_bytes.at &&
                      search.best.is_fast && search.tried.is_fast && search.overall.is_fast && run(&search) == 0;
    if (has_memory) {
        memcpy(result->is_fast, search.overall.is_fast, n * sizeof(*result->is_fast));
        hm_pack_limit(&search.meter, &search.overall.sum, search.overall.score, n, search.tried.is_fast, result);
    }
    hm_pack_meter_close(&search.meter);
    free(search.by_bytes.at);
    free(search.best.is_fast);
    free(search.tried.is_fast);
    free(search.overall.is_fast);
    errno = has_memory ? errno : ENOMEM;
    return has_memory ? 0 : -1;
}
