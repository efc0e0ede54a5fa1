/* SPDX-License-Identifier: Apache-2.0 */
#include "density.h"

#include <math.h>

#define HOLE 512            /* pages, 2 MiB: more of them without any sample are a hole */
#define LEAST_TO_SPLIT 4.0  /* samples: fewer hardly tell halves apart, wherever they lie */
#define MOST_EXPONENT 600.0 /* of e, in a double */
#define LEAST_WORTH 1e-12   /* of a sample: spread over no more pages than there are */
#define SHARE_PRIOR 2.0     /* samples that the share of writes in the whole counts for in a part */

/* One way down the halves. */
struct descent {
    struct hm_density *density;
    uint64_t length;   /* of the line */
    double dispersion; /* variance of the weighted samples' sum, by its mean */
    hm_density_take *take;
    void *data;
    double least;              /* samples to split a node: more than LEAST_TO_SPLIT where there are too many nodes */
    size_t n_differs, n_taken; /* nodes: weighed, descended into */
};

/* A place on the line, and what lies before it. */
struct place {
    struct hm_density_sum before;
    size_t cell;    /* the first that ends behind the place */
    bool is_inside; /* the place is in it, not in a hole before it */
};

struct node {
    uint64_t at, n_pages;         /* on the line; n_pages is a power of two and may reach beyond its end */
    struct place from, to;        /* its first page, and what follows it */
    double expected, write_share; /* where all nodes above it are split */
    double reached, even;         /* how sure that is, and heat per page where it is not */
};

static void add_cell(struct hm_density_sum *sum, const struct hm_cells *cells, const struct hm_cell *cell)
{
    double counted = (double)(cell->reads + cell->writes);
    double weighted = cells->read_weight * (double)cell->reads + cells->write_weight * (double)cell->writes;
    sum->mass += weighted;
    sum->writes += cells->write_weight * (double)cell->writes;
    if (counted <= 0)
        return;
    sum->variance += weighted * (1 + (double)cell->excess / counted);
    sum->evidence += weighted * (hm_cell_evidence(counted, (double)cell->excess) / counted);
}

/* Cells become sums and stretches. Returns the length of the line. */
static uint64_t lay_out(struct hm_density *density)
{
    const struct hm_cells *cells = density->cells;
    struct hm_density_sum sum = {0};
    uint64_t length = 0;
    density->n_stretches = 0;
    for (size_t i = 0; i < cells->n; i++) {
        const struct hm_cell *cell = &cells->cell[i];
        struct hm_stretch *last = density->n_stretches > 0 ? &density->stretch[density->n_stretches - 1] : NULL;
        density->before[i] = sum;
        add_cell(&sum, cells, cell);
        if (last && HM_PAGE_SPACE(last->first) == HM_PAGE_SPACE(cell->first) &&
            cell->first - (last->first + last->n_pages) <= HOLE) {
            length += hm_cell_end(cell) - (last->first + last->n_pages);
            last->n_pages = hm_cell_end(cell) - last->first;
        } else {
            density->stretch[density->n_stretches++] = (struct hm_stretch){cell->first, cell->n_pages, length};
            length += cell->n_pages;
        }
    }
    density->before[cells->n] = sum;
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

/* What lies before a place between two others. */
static struct hm_density_sum between(const struct hm_density_sum *a, const struct hm_density_sum *b, double share)
{
    return (struct hm_density_sum){.mass = a->mass + share * (b->mass - a->mass),
                                   .writes = a->writes + share * (b->writes - a->writes),
                                   .variance = a->variance + share * (b->variance - a->variance),
                                   .evidence = a->evidence + share * (b->evidence - a->evidence)};
}

static struct place place_at(const struct descent *descent, uint64_t at)
{
    const struct hm_density *density = descent->density;
    const struct hm_cells *cells = density->cells;
    if (at >= descent->length)
        return (struct place){.before = density->before[cells->n], .cell = cells->n};
    const struct hm_stretch *stretch = stretch_at(density, at);
    uint64_t page = stretch->first + (at - stretch->at);
    size_t i = hm_cells_find(cells, page);
    double share = 0;
    if (cells->cell[i].first < page)
        share = (double)(page - cells->cell[i].first) / (double)cells->cell[i].n_pages;
    return (struct place){.before = between(&density->before[i], &density->before[i + 1], share),
                          .cell = i,
                          .is_inside = cells->cell[i].first <= page};
}

static double mass_of(const struct node *node)
{
    return fmax(node->to.before.mass - node->from.before.mass, 0);
}

/* What a sample tells, by what a counted one does, which scatter less: of a node without any, that of `other`. Neither
 * a weight above 1 nor being spread over many pages is evidence. */
static double worth_of(const struct node *node, const struct node *other)
{
    double variance = node->to.before.variance - node->from.before.variance, mass = mass_of(node);
    if (mass <= 0 || variance <= 0)
        return other ? worth_of(other, NULL) : 1;
    return fmax(fmin(mass / variance, 1), LEAST_WORTH);
}

/* As many counted samples as tell as much of the node's sum. */
static double samples_of(const struct descent *descent, const struct node *node)
{
    return mass_of(node) / descent->dispersion * worth_of(node, NULL);
}

/* As many as tell as much of its parts, each by itself: no fewer. */
static double samples_in_parts(const struct descent *descent, const struct node *node)
{
    return fmax(node->to.before.evidence - node->from.before.evidence, 0) / descent->dispersion;
}

static void put_leaf(const struct descent *descent, const struct node *node)
{
    uint64_t end = node->at + node->n_pages < descent->length ? node->at + node->n_pages : descent->length;
    double heat = node->even + node->reached * node->expected / (double)(end - node->at);
    for (uint64_t at = node->at; at < end;) {
        const struct hm_stretch *stretch = stretch_at(descent->density, at);
        uint64_t stop = stretch->at + stretch->n_pages < end ? stretch->at + stretch->n_pages : end;
        struct hm_span span = {.first = stretch->first + (at - stretch->at),
                               .n_pages = stop - at,
                               .heat = heat,
                               .write_share = node->write_share,
                               .variance = mass_of(node) / descent->dispersion / worth_of(node, NULL) *
                                           (double)(stop - at) / (double)(end - node->at)};
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

/* A half: the samples that its mass is worth, what each of them is worth, and its pages. */
struct half {
    double samples, worth, pages;
};

/* The left half's part of all pages, each by what a sample is worth: one that was looked at more coarsely was looked at
 * less. */
static double seen_part(const struct half *left, const struct half *right)
{
    return left->pages * left->worth / (left->pages * left->worth + right->pages * right->worth);
}

/* How much likelier the samples of the halves are with two rates than with one: the logarithm of the ratio, less the
 * price of a free rate (Krichevsky and Trofimov: half a logarithm of the samples). */
static double log_ratio(const struct half *left, const struct half *right)
{
    double samples = left->samples + right->samples, seen = seen_part(left, right);
    return times_log(left->samples, samples * seen) + times_log(right->samples, samples * (1 - seen)) -
           0.5 * log(1 + M_PI / 2 * samples);
}

/* The part of the samples of halves that differ that is expected in the left one: half a sample at even odds on each
 * side. */
static double left_part(const struct half *left, const struct half *right)
{
    double seen = seen_part(left, right);
    double to_left = (left->samples + seen) / left->worth, to_right = (right->samples + (1 - seen)) / right->worth;
    return to_left / (to_left + to_right);
}

/* Within one cell everything is spread evenly. */
static bool is_even(const struct node *node)
{
    return node->from.is_inside && node->from.cell == node->to.cell;
}

static bool is_leaf(const struct descent *descent, const struct node *node)
{
    return samples_in_parts(descent, node) < descent->least || node->n_pages == 1 || is_even(node);
}

/* Both halves; the right one has no pages where the node reaches beyond the line so far. */
static void halve(const struct descent *descent, const struct node *node, struct node halves[2], struct half sides[2])
{
    uint64_t half = node->n_pages / 2, middle = node->at + half;
    uint64_t end = node->at + node->n_pages < descent->length ? node->at + node->n_pages : descent->length;
    struct place cut = middle < descent->length ? place_at(descent, middle) : node->to;
    halves[0] = (struct node){.at = node->at, .n_pages = half, .from = node->from, .to = cut};
    halves[1] = (struct node){.at = middle, .n_pages = half, .from = cut, .to = node->to};
    sides[0] = (struct half){samples_of(descent, &halves[0]), worth_of(&halves[0], &halves[1]), (double)half};
    sides[1] = (struct half){samples_of(descent, &halves[1]), worth_of(&halves[1], &halves[0]),
                             end > middle ? (double)(end - middle) : 0};
}

/*
 * From the bottom up, how sure it is that each node's halves differ, in the order in which descend() comes by. At even
 * odds before anything was seen, the likelihood of all samples in a node, by that of one rate for all of its pages, is
 *
 *     (1 + two rates / one * what it is in the left half * what it is in the right half) / 2
 *
 * Returns its logarithm.
 */
static double weigh(struct descent *descent, const struct node *node)
{
    struct node halves[2];
    struct half sides[2];
    if (is_leaf(descent, node) || descent->n_differs == descent->density->cells->room)
        return 0;
    float *differs = &descent->density->differs[descent->n_differs++];
    halve(descent, node, halves, sides);
    if (sides[1].pages == 0) {
        *differs = 1;
        return weigh(descent, &halves[0]);
    }
    double odds = log_ratio(&sides[0], &sides[1]);
    odds += weigh(descent, &halves[0]);
    odds += weigh(descent, &halves[1]);
    *differs = (float)(1 / (1 + exp(-odds)));
    return (odds > MOST_EXPONENT ? odds : log1p(exp(odds))) - M_LN2;
}

/* The write share of a half follows that of its samples, as far as it has some. */
static double write_share_of(const struct descent *descent, const struct node *node, double above)
{
    double writes = (node->to.before.writes - node->from.before.writes) / descent->dispersion * worth_of(node, NULL);
    return (writes + SHARE_PRIOR * above) / (samples_of(descent, node) + SHARE_PRIOR);
}

static void descend(struct descent *descent, const struct node *node)
{
    struct node halves[2];
    struct half sides[2];
    if (is_leaf(descent, node)) {
        put_leaf(descent, node);
        return;
    }
    double differs = (double)descent->density->differs[descent->n_taken++];
    halve(descent, node, halves, sides);
    double part = sides[1].pages > 0 ? left_part(&sides[0], &sides[1]) : 1;
    double heat = node->expected / (sides[0].pages + sides[1].pages);
    for (int i = 0; i < 2 && sides[i].pages > 0; i++) {
        halves[i].expected = node->expected * (i == 0 ? part : 1 - part);
        halves[i].even = node->even + node->reached * (1 - differs) * heat;
        halves[i].reached = node->reached * differs;
        halves[i].write_share = write_share_of(descent, &halves[i], node->write_share);
        descend(descent, &halves[i]);
    }
}

void hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data)
{
    struct descent descent = {.density = density,
                              .least = LEAST_TO_SPLIT / 2,
                              .dispersion = find_dispersion(density->cells),
                              .take = take,
                              .data = data};
    descent.length = lay_out(density);
    if (descent.length == 0)
        return;
    struct node root = {.n_pages = 1, .to = place_at(&descent, descent.length)};
    root.expected = root.to.before.mass;
    root.write_share = root.to.before.mass > 0 ? root.to.before.writes / root.to.before.mass : 0;
    while (root.n_pages < descent.length)
        root.n_pages *= 2;
    root.reached = 1;
    do {
        descent.least *= 2;
        descent.n_differs = 0;
        weigh(&descent, &root);
    } while (descent.n_differs == density->cells->room);
    descend(&descent, &root);
}
