/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of decide.h, which hand the work to the algorithm that the options name, and those that the algorithms
 * share (algorithm.h).
 */
#include "algorithm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define LEAST_EXTENTS 16
#define MOST_EXTENTS 1048576

static const struct hm_algorithm *const algorithms[] = {&hm_algorithm_regions, &hm_algorithm_bins};

bool hm_algorithm_at(int n, const char **name, const char **about)
{
    if (n < 0 || (size_t)n >= N_ROWS(algorithms))
        return false;
    *name = algorithms[n]->name;
    *about = algorithms[n]->about;
    return true;
}

static const struct hm_algorithm *find_algorithm(const char *name, struct hm_error *error)
{
    char known[200] = "";
    for (size_t i = 0, length = 0; i < N_ROWS(algorithms) && length < sizeof(known); i++) {
        if (name && strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
        length +=
            (size_t)snprintf(known + length, sizeof(known) - length, "%s%s", i > 0 ? ", " : "", algorithms[i]->name);
    }
    hm_fail(error, EINVAL, "algorithm: \"%.40s\" is not known: use one of %s", name ? name : "", known);
    return NULL;
}

static int check_number(const char *name, double value, double least, struct hm_error *error)
{
    if (!isfinite(value) || value < least)
        return hm_fail(error, EINVAL, "%s: %g is out of range: use %g or more", name, value, least);
    return 0;
}

/* Gains and costs of the tiers. */
static int check_tiers(const struct hm_decider_options *options, struct hm_error *error)
{
    for (unsigned from = 0; from < options->n_tiers; from++) {
        const double *reads = options->read_gain + from, *writes = options->write_gain + from;
        if (check_number("read_gain", *reads, from > 0 ? reads[-1] : 0, error) < 0 ||
            check_number("write_gain", *writes, from > 0 ? writes[-1] : 0, error) < 0)
            return -1;
        for (unsigned to = 0; to < options->n_tiers; to++)
            if (check_number("move_cost", options->move_cost[from][to], 0, error) < 0)
                return -1;
    }
    return 0;
}

static int check_options(const struct hm_algorithm *algorithm, const struct hm_decider_options *options,
                         struct hm_error *error)
{
    if (options->n_tiers < 2 || options->n_tiers > HM_MAX_TIERS)
        return hm_fail(error, EINVAL, "n_tiers: %u is out of range: use 2 to %d", options->n_tiers, HM_MAX_TIERS);
    if (options->n_tiers > 2 && !algorithm->knows_many_tiers)
        return hm_fail(error, EINVAL, "algorithm: %s knows two tiers, and there are %u: use regions", algorithm->name,
                       options->n_tiers);
    if (options->max_extents < LEAST_EXTENTS || options->max_extents > MOST_EXTENTS)
        return hm_fail(error, EINVAL, "max_extents: %u is out of range: use %d to %d", options->max_extents,
                       LEAST_EXTENTS, MOST_EXTENTS);
    if (check_number("period", options->period, 1, error) < 0 ||
        check_number("page_bytes", (double)options->page_bytes, 1, error) < 0 || check_tiers(options, error) < 0)
        return -1;
    if (!(options->error >= 0 && options->error <= 1))
        return hm_fail(error, EINVAL, "error: %g is out of range: use 0 to 1", options->error);
    return 0;
}

void hm_decider_set_latencies(struct hm_decider_options *options, unsigned n_tiers, const double *read,
                              const double *write, double lines)
{
    options->n_tiers = n_tiers;
    for (unsigned from = 0; from < n_tiers; from++) {
        options->read_gain[from] = read[from] - read[0];
        options->write_gain[from] = write[from] - write[0];
        for (unsigned to = 0; to < n_tiers; to++)
            options->move_cost[from][to] = from == to ? 0 : lines * (read[from] + write[to]);
    }
}

struct hm_decider *hm_decider_new_of(const struct hm_algorithm *algorithm, const struct hm_decider_options *options,
                                     struct hm_error *error)
{
    if (check_options(algorithm, options, error) < 0)
        return NULL;
    struct hm_decider *decider = algorithm->create(options);
    if (!decider) {
        hm_fail(error, ENOMEM, "max_extents: no memory for %u extents", options->max_extents);
        return NULL;
    }
    return decider;
}

struct hm_decider *hm_decider_new(const struct hm_decider_options *options, struct hm_error *error)
{
    const struct hm_algorithm *algorithm = find_algorithm(options->algorithm, error);
    return algorithm ? hm_decider_new_of(algorithm, options, error) : NULL;
}

void hm_decider_free(struct hm_decider *decider)
{
    if (decider)
        decider->algorithm->destroy(decider);
}

void hm_decider_observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count)
{
    if (!decider->options.hot_by_writes) {
        decider->algorithm->observe(decider, observations, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct hm_observation written = observations[i];
        written.reads = 0;
        if (written.writes > 0)
            decider->algorithm->observe(decider, &written, 1);
    }
}

uint64_t hm_decider_dropped(const struct hm_decider *decider)
{
    return decider->dropped;
}

void hm_decider_forget(struct hm_decider *decider, const struct hm_gone *gone, size_t n)
{
    decider->algorithm->forget(decider, gone, n);
}

void hm_decider_end_phase(struct hm_decider *decider)
{
    decider->algorithm->end_phase(decider);
}

struct hm_extent *hm_decider_extents(struct hm_decider *decider, size_t *count)
{
    *count = decider->n_extents;
    return decider->extent;
}

const struct hm_move *hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count)
{
    decider->n_moves = 0;
    decider->algorithm->plan(decider, budget);
    *count = decider->n_moves;
    return decider->move;
}

double hm_decider_belief(const struct hm_decider *decider)
{
    return decider->algorithm->belief ? decider->algorithm->belief(decider) : 1;
}

size_t hm_decider_bytes(const struct hm_decider *decider)
{
    return decider->bytes;
}

const char *hm_verdict_text(enum hm_verdict verdict)
{
    static const char *const texts[HM_VERDICTS] = {
        [HM_VERDICT_NEW] = "new: not enough evidence yet",
        [HM_VERDICT_PLACED] = "where it should be",
        [HM_VERDICT_PROMOTE] = "promoted: the gain exceeds the cost",
        [HM_VERDICT_DEMOTE] = "demoted: makes room for hotter pages",
        [HM_VERDICT_CAP] = "demoted: the fast tier has more than the cap",
        [HM_VERDICT_DOUBT] = "stays: all moves together gain next to nothing",
        [HM_VERDICT_COST] = "stays: the gain would not pay for the move",
        [HM_VERDICT_ROOM] = "stays: nothing colder gives way",
        [HM_VERDICT_BUDGET] = "stays: this phase's budget is used up",
        [HM_VERDICT_SHED] = "demoted: the fast tier serves more than its share",
        [HM_VERDICT_SHARE] = "stays: the fast tier serves its share",
        [HM_VERDICT_LOST] = "stays: moves have lost more than they gained so far",
    };
    return (unsigned)verdict < HM_VERDICTS ? texts[verdict] : "unknown";
}

void *hm_decider_allocate(struct hm_decider *decider, size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory)
        decider->bytes += count * size;
    return memory;
}

static int compare_priority(const void *a, const void *b, void *data)
{
    const struct hm_extent *extent = data;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double p = extent[x].priority, q = extent[y].priority;
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

void hm_decider_order(struct hm_decider *decider, uint32_t *order)
{
    for (size_t i = 0; i < decider->n_extents; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, decider->n_extents, sizeof(*order), compare_priority, decider->extent);
}

void hm_decider_add_move(struct hm_decider *decider, const struct hm_extent *extent, uint64_t limit, unsigned from,
                         unsigned to)
{
    if (limit > 0)
        decider->move[decider->n_moves++] = (struct hm_move){
            .first = extent->first, .n_pages = extent->n_pages, .limit = limit, .from = from, .to = to};
}
