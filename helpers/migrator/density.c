/* SPDX-License-Identifier: Apache-2.0 */
#include "density.h"

#include <math.h>

#define HOLE 512           /* pages, 2 MiB: more of them without any sample are a hole */
#define SPLIT_PRIOR 0.01   /* that two halves differ, before anything is seen: borders are rare */
#define LEAST_TO_SPLIT 4.0 /* samples: fewer cannot outweigh the prior, wherever they lie */
#define SHARE_PRIOR 2.0    /* samples that the share of writes in the whole counts for in a part */

/* One way down the halves. */
struct descent {
    struct hm_density *density;
    uint64_t length;   /* of the line */
    double dispersion; /* variance of the weighted samples' sum, by its mean */
    hm_density_take *take;
    void *data;
};

/* What lies before a place on the line: weighted samples, and those of them that are writes. */
struct sum {
    double mass, writes;
    size_t cell;    /* the first that ends behind the place */
    bool is_inside; /* the place is in it, not in a hole before it */
};

struct node {
    uint64_t at, n_pages; /* on the line; n_pages is a power of two and may reach beyond its end */
    struct sum from, to;  /* before its first page, and before what follows it */
    double expected, write_share;
};

/* Cells become sums and stretches. Returns the length of the line. */
static uint64_t lay_out(struct hm_density *density)
{
    const struct hm_cells *cells = density->cells;
    double mass = 0, writes = 0;
    uint64_t length = 0;
    density->n_stretches = 0;
    for (size_t i = 0; i < cells->n; i++) {
        const struct hm_cell *cell = &cells->cell[i];
        struct hm_stretch *last = density->n_stretches > 0 ? &density->stretch[density->n_stretches - 1] : NULL;
        density->mass[i] = mass;
        density->writes[i] = writes;
        mass += cells->read_weight * (double)cell->reads + cells->write_weight * (double)cell->writes;
        writes += cells->write_weight * (double)cell->writes;
        if (last && HM_PAGE_SPACE(last->first) == HM_PAGE_SPACE(cell->first) &&
            cell->first - (last->first + last->n_pages) <= HOLE) {
            length += hm_cell_end(cell) - (last->first + last->n_pages);
            last->n_pages = hm_cell_end(cell) - last->first;
        } else {
            density->stretch[density->n_stretches++] = (struct hm_stretch){cell->first, cell->n_pages, length};
            length += cell->n_pages;
        }
    }
    density->mass[cells->n] = mass;
    density->writes[cells->n] = writes;
    return length;
}

/* The stretch in which a place on the line lies. */
static const struct hm_stretch *stretch_at(const struct hm_density *density, uint64_t at)
{
    size_t low = 0, high = density->n_stretches;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (density->stretch[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return &density->stretch[low];
}

static struct sum sum_before(const struct descent *descent, uint64_t at)
{
    const struct hm_density *density = descent->density;
    const struct hm_cells *cells = density->cells;
    if (at >= descent->length)
        return (struct sum){density->mass[cells->n], density->writes[cells->n], cells->n, false};
    const struct hm_stretch *stretch = stretch_at(density, at);
    uint64_t page = stretch->first + (at - stretch->at);
    size_t i = hm_cells_find(cells, page);
    double share = 0;
    bool is_inside = cells->cell[i].first <= page;
    if (cells->cell[i].first < page)
        share = (double)(page - cells->cell[i].first) / (double)cells->cell[i].n_pages;
    return (struct sum){density->mass[i] + share * (density->mass[i + 1] - density->mass[i]),
                        density->writes[i] + share * (density->writes[i + 1] - density->writes[i]), i, is_inside};
}

/* As many counted samples as tell as much as the weighted ones: a weight above 1 is not evidence. */
static double samples_of(const struct descent *descent, const struct node *node)
{
    return fmax(node->to.mass - node->from.mass, 0) / descent->dispersion;
}

static void put_leaf(const struct descent *descent, const struct node *node)
{
    uint64_t end = node->at + node->n_pages < descent->length ? node->at + node->n_pages : descent->length;
    double heat = node->expected / (double)(end - node->at);
    for (uint64_t at = node->at; at < end;) {
        const struct hm_stretch *stretch = stretch_at(descent->density, at);
        uint64_t stop = stretch->at + stretch->n_pages < end ? stretch->at + stretch->n_pages : end;
        struct hm_span span = {.first = stretch->first + (at - stretch->at),
                               .n_pages = stop - at,
                               .heat = heat,
                               .write_share = node->write_share,
                               .samples = samples_of(descent, node) * (double)(stop - at) / (double)(end - node->at)};
        descent->take(descent->data, &span);
        at = stop;
    }
}

/* Of a sum of counts with weights: sum(count * weight^2) / sum(count * weight). */
static double find_dispersion(const struct hm_cells *cells)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < cells->n; i++) {
        double reads = cells->read_weight * (double)cells->cell[i].reads;
        double writes = cells->write_weight * (double)cells->cell[i].writes;
        mean += reads + writes;
        variance += cells->read_weight * reads + cells->write_weight * writes;
    }
    return mean > 0 ? variance / mean : 1;
}

static double times_log(double count, double expected)
{
    return count > 0 ? count * log(count / expected) : 0;
}

/*
 * The part of a node's expected samples that its left half gets, given `left` of `samples` there and `even` of its
 * pages. With the prior that the parts differ: posterior odds by the likelihood ratio of two rates to one, less the
 * price of a free rate (Krichevsky and Trofimov: half a logarithm of the samples); then half a sample at even odds on
 * each side.
 */
static double left_part(double left, double samples, double even)
{
    double evidence = times_log(left, samples * even) + times_log(samples - left, samples * (1 - even)) -
                      0.5 * log(1 + M_PI / 2 * samples);
    double odds = SPLIT_PRIOR / (1 - SPLIT_PRIOR) * exp(fmin(evidence, 600));
    double differs = odds / (1 + odds);
    return (1 - differs) * even + differs * (left + even) / (samples + 1);
}

/* The write share of a child follows that of its samples, as far as it has some. */
static void descend_into(const struct descent *descent, struct node child, double write_share);

/* Within one cell everything is spread evenly. */
static bool is_even(const struct node *node)
{
    return node->from.is_inside && node->from.cell == node->to.cell;
}

static void descend(const struct descent *descent, const struct node *node)
{
    uint64_t half = node->n_pages / 2, middle = node->at + half;
    double samples = samples_of(descent, node);
    if (samples < LEAST_TO_SPLIT || half == 0 || is_even(node)) {
        put_leaf(descent, node);
        return;
    }
    struct node left = {
        .at = node->at, .n_pages = half, .from = node->from, .to = node->to, .expected = node->expected};
    if (middle >= descent->length) {
        descend_into(descent, left, node->write_share);
        return;
    }
    uint64_t pages = node->at + node->n_pages < descent->length ? node->n_pages : descent->length - node->at;
    left.to = sum_before(descent, middle);
    double part = left_part(fmin(samples_of(descent, &left), samples), samples, (double)half / (double)pages);
    struct node right = {
        .at = middle, .n_pages = half, .from = left.to, .to = node->to, .expected = node->expected * (1 - part)};
    left.expected = node->expected * part;
    descend_into(descent, left, node->write_share);
    descend_into(descent, right, node->write_share);
}

static void descend_into(const struct descent *descent, struct node child, double write_share)
{
    child.write_share = ((child.to.writes - child.from.writes) / descent->dispersion + SHARE_PRIOR * write_share) /
                        (samples_of(descent, &child) + SHARE_PRIOR);
    descend(descent, &child);
}

void hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data)
{
    struct descent descent = {
        .density = density, .dispersion = find_dispersion(density->cells), .take = take, .data = data};
    descent.length = lay_out(density);
    if (descent.length == 0)
        return;
    struct node root = {.n_pages = 1, .to = sum_before(&descent, descent.length)};
    root.expected = root.to.mass;
    root.write_share = root.to.mass > 0 ? root.to.writes / root.to.mass : 0;
    while (root.n_pages < descent.length)
        root.n_pages *= 2;
    descend(&descent, &root);
}
