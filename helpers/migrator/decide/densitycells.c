/* SPDX-License-Identifier: Apache-2.0 */
#include "densitycells.h"

#include <math.h>

#include "densityline.h"

#define LEAST_CELLS 32 /* with fewer, nothing is known of their distribution */

/*
 * Shapes of the Gamma distribution, from heats that are much alike to such that are not. One of them does not fit very
 * many cold cells and a few very hot ones: so a cell's heat is the mean over all shapes, each weighted by how likely it
 * makes the cell's samples.
 */
static const struct shape {
    double shape, constant; /* constant: lgamma(shape) - shape * log(shape) */
} shapes[] = {
    {8, -8.110370972373271}, {4, -3.753417975251507}, {2, -1.3862943611198906}, {1, 0}, {0.5, 0.9189385332046731}};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* The samples of a cell, as in density.c; `seen` are its pages times what a sample is worth. */
struct part {
    double pages, mass, samples, seen, writes;
};

/* The worth of a cell without samples is `otherwise`. */
static struct part part_of(const struct hm_density *density, double dispersion, double otherwise, size_t i)
{
    const struct hm_density_sum *from = &density->before[i], *to = &density->before[i + 1];
    double mass = to->mass - from->mass, variance = to->variance - from->variance;
    double worth = mass > 0 && variance > 0 ? hm_line_worth(mass, variance) : otherwise;
    double pages = (double)density->cells->cell[i].n_pages;
    return (struct part){.pages = pages,
                         .mass = mass / dispersion,
                         .samples = mass / dispersion * worth,
                         .seen = pages * worth,
                         .writes = (to->writes - from->writes) / dispersion * worth};
}

/* Pages without samples. */
static struct part gap_of(const struct hm_apart *apart, double pages)
{
    return (struct part){.pages = pages, .seen = pages * apart->gap_worth};
}

/*
 * How likely the part's samples, a Poisson count with exposure `seen`, are if the rate is drawn from the Gamma
 * distribution (they are negative binomial then): the logarithms by shape, without what is equal for all shapes.
 */
static void log_drawn(const struct part *part, double mean, double drawn[N_SHAPES])
{
    double n = part->samples, expected = part->seen * mean;
    /* lgamma(n + shape): Gamma(x + 1) = x * Gamma(x) gives most of them at the price of a logarithm. */
    double half = lgamma(n + 0.5), one = lgamma(n + 1), two = one + log(n + 1);
    double four = two + log((n + 2) * (n + 3)), eight = four + log((n + 4) * (n + 5) * (n + 6) * (n + 7));
    const double log_gamma[N_SHAPES] = {eight, four, two, one, half};
    for (size_t s = 0; s < N_SHAPES; s++)
        drawn[s] = log_gamma[s] - shapes[s].constant - (n + shapes[s].shape) * log(expected + shapes[s].shape);
}

/* Adds a part to the logarithms of all shapes, compared with the mean rate, as if there were `times` such parts. */
static void add_part(const struct part *part, double times, double mean, double log_ratio[N_SHAPES])
{
    double drawn[N_SHAPES];
    log_drawn(part, mean, drawn);
    for (size_t s = 0; s < N_SHAPES; s++)
        log_ratio[s] += times * (drawn[s] + mean * part->seen);
}

/* Sets what the samples of all cells tell together. */
static void sum_up(const struct hm_density *density, struct hm_apart *apart, double *pages)
{
    double known_pages = 0, known_seen = 0, samples = 0;
    *pages = 0;
    for (size_t i = 0; i < density->cells->n; i++) {
        struct part part = part_of(density, apart->dispersion, 0, i);
        *pages += part.pages;
        known_pages += part.mass > 0 ? part.pages : 0;
        known_seen += part.seen;
        samples += part.samples;
    }
    const struct hm_density_sum *all = &density->before[density->cells->n];
    double length = (double)density->length;
    apart->gap_worth = known_seen / known_pages;
    apart->rate = samples / (known_seen + (length - known_pages) * apart->gap_worth);
    apart->mean = all->mass / apart->dispersion / length;
    apart->write_share = all->writes / all->mass;
}

struct hm_apart hm_apart_weigh(const struct hm_density *density, double dispersion)
{
    struct hm_apart apart = {.dispersion = dispersion, .log_ratio = -INFINITY};
    double log_ratio[N_SHAPES] = {0}, pages;
    size_t n = density->cells->n;
    const struct hm_density_sum *all = &density->before[n];
    if (n < LEAST_CELLS || all->mass <= 0 || all->variance <= all->mass)
        return apart;
    sum_up(density, &apart, &pages);
    /* Pages between cells count as so many cells without samples, of the mean size. */
    double unit = pages / (double)n;
    struct part gap = gap_of(&apart, unit);
    add_part(&gap, ((double)density->length - pages) / unit, apart.rate, log_ratio);
    for (size_t i = 0; i < n; i++) {
        struct part part = part_of(density, dispersion, apart.gap_worth, i);
        add_part(&part, 1, apart.rate, log_ratio);
    }
    /* The price of a choice among the shapes, and of one free parameter. */
    double price = log((double)N_SHAPES) + 0.5 * log((double)n);
    for (size_t s = 0; s < N_SHAPES; s++)
        apart.log_ratio = fmax(apart.log_ratio, log_ratio[s] - price);
    return apart;
}

/* The posterior mean of the part's heat per page. */
static double heat_of(const struct hm_apart *apart, const struct part *part)
{
    double log_weight[N_SHAPES], most = -INFINITY, sum = 0, heat = 0;
    log_drawn(part, apart->mean, log_weight);
    for (size_t s = 0; s < N_SHAPES; s++)
        most = fmax(most, log_weight[s]);
    for (size_t s = 0; s < N_SHAPES; s++) {
        double weight = exp(log_weight[s] - most);
        sum += weight;
        heat += weight * (part->samples + shapes[s].shape) / (part->seen + shapes[s].shape / apart->mean);
    }
    return heat / sum * apart->dispersion;
}

static void put(const struct hm_apart *apart, uint64_t first, uint64_t n_pages, const struct part *part,
                hm_density_take *take, void *data)
{
    struct hm_span span = {.first = first,
                           .n_pages = n_pages,
                           .heat = heat_of(apart, part),
                           .write_share = hm_line_write_share(part->writes, part->samples, apart->write_share),
                           .variance = part->mass * part->pages / part->seen};
    take(data, &span);
}

void hm_apart_estimate(const struct hm_density *density, const struct hm_apart *apart, hm_density_take *take,
                       void *data)
{
    const struct hm_cells *cells = density->cells;
    size_t i = 0;
    for (size_t s = 0; s < density->n_stretches; s++) {
        uint64_t at = density->stretch[s].first, end = at + density->stretch[s].n_pages;
        for (; i < cells->n && cells->cell[i].first < end && cells->cell[i].first >= at; i++) {
            const struct hm_cell *cell = &cells->cell[i];
            const struct part part = part_of(density, apart->dispersion, apart->gap_worth, i);
            /* A gap of many pages is no better known than one as large as the cell after it. */
            const struct part gap = gap_of(apart, fmin((double)(cell->first - at), part.pages));
            if (cell->first > at)
                put(apart, at, cell->first - at, &gap, take, data);
            put(apart, cell->first, cell->n_pages, &part, take, data);
            at = hm_cell_end(cell);
        }
    }
}
