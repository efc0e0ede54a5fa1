/* SPDX-License-Identifier: Apache-2.0 */
#include "densitycells.h"

#include <math.h>

#define LEAST_WORTH 1e-12 /* smallest worth of a sample, which may be spread over very many pages */
#define LEAST_CELLS 32    /* with fewer, nothing is known of their distribution */
#define SHARE_PRIOR 2.0   /* weight, in samples, of the whole's share of writes when a cell's share is estimated */
/*
 * The shape with which a cell's heat is estimated: heat differs much. One Gamma distribution does not fit very many
 * cold cells and a few very hot ones; the shape that explains the many best would draw the hottest cells to the mean.
 */
#define SHAPE 0.5

/* Shapes with which the samples are explained, from heats that are much alike to such that are not. */
static const double shapes[] = {8, 4, 2, 1, SHAPE};

/* The samples of a cell, as in density.c; `seen` are its pages times what a sample is worth. */
struct part {
    double pages, mass, samples, seen, writes;
};

static struct part part_of(const struct hm_density *density, const struct hm_apart *apart, size_t i)
{
    const struct hm_density_sum *from = &density->before[i], *to = &density->before[i + 1];
    double mass = to->mass - from->mass, variance = to->variance - from->variance;
    double worth = mass > 0 && variance > 0 ? fmax(fmin(mass / variance, 1), LEAST_WORTH) : apart->gap_worth;
    double pages = (double)density->cells->cell[i].n_pages;
    return (struct part){.pages = pages,
                         .mass = mass / apart->dispersion,
                         .samples = mass / apart->dispersion * worth,
                         .seen = pages * worth,
                         .writes = (to->writes - from->writes) / apart->dispersion * worth};
}

/*
 * How much likelier the part's samples, a Poisson count with exposure `seen`, are under the Gamma distribution (they
 * are negative binomial then) than with the mean rate: the logarithm.
 */
static double log_of_part(const struct part *part, double shape, double mean)
{
    double scale = shape / mean;
    return lgamma(part->samples + shape) - lgamma(shape) + shape * log(scale / (scale + part->seen)) -
           part->samples * log((scale + part->seen) * mean) + mean * part->seen;
}

/* Pages between cells count as so many cells without samples, of the mean size. */
static struct part gap_of(const struct hm_apart *apart, double pages)
{
    return (struct part){.pages = pages, .seen = pages * apart->gap_worth};
}

/* The logarithm for all cells and the gaps, which are n_gaps cells of `unit` pages. */
static double log_of_all(const struct hm_density *density, const struct hm_apart *apart, double unit, double n_gaps,
                         double shape)
{
    const struct part gap = gap_of(apart, unit);
    double sum = n_gaps * log_of_part(&gap, shape, apart->mean);
    for (size_t i = 0; i < density->cells->n; i++) {
        struct part part = part_of(density, apart, i);
        sum += log_of_part(&part, shape, apart->mean);
    }
    return sum;
}

struct hm_apart hm_apart_weigh(const struct hm_density *density, double dispersion)
{
    struct hm_apart apart = {.dispersion = dispersion, .gap_worth = 1, .log_ratio = -1};
    size_t n = density->cells->n;
    const struct hm_density_sum *all = &density->before[n];
    double pages = 0, seen = 0, samples = 0;
    if (n < LEAST_CELLS || all->mass <= 0 || all->variance <= all->mass)
        return apart;
    for (size_t i = 0; i < n; i++) {
        struct part part = part_of(density, &apart, i);
        pages += part.pages;
        seen += part.seen;
        samples += part.samples;
    }
    double gap_pages = (double)density->length - pages, unit = pages / (double)n;
    apart.gap_worth = seen / pages;
    apart.mean = samples / (seen + gap_pages * apart.gap_worth);
    apart.write_share = all->writes / all->mass;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
        apart.log_ratio = fmax(apart.log_ratio, log_of_all(density, &apart, unit, gap_pages / unit, shapes[s]));
    return apart;
}

static void put(const struct hm_apart *apart, uint64_t first, uint64_t n_pages, const struct part *part,
                hm_density_take *take, void *data)
{
    double heat = (part->samples + SHAPE) / (part->seen + SHAPE / apart->mean) * apart->dispersion;
    double writes = part->writes + SHARE_PRIOR * apart->write_share;
    struct hm_span span = {.first = first,
                           .n_pages = n_pages,
                           .heat = heat,
                           .write_share = writes / (part->samples + SHARE_PRIOR),
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
            const struct part part = part_of(density, apart, i);
            /* A gap of many pages is no better known than one as large as the cell after it. */
            const struct part gap = gap_of(apart, fmin((double)(cell->first - at), part.pages));
            if (cell->first > at)
                put(apart, at, cell->first - at, &gap, take, data);
            put(apart, cell->first, cell->n_pages, &part, take, data);
            at = hm_cell_end(cell);
        }
    }
}
