/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of density.h: weigh() finds the probability that a node's halves differ, descend() makes the spans,
 * unless the cells by themselves explain the samples better (densitycells.h). */
#include <math.h>

#include "densitycells.h"
#include "densityline.h"

#define LEAST_TO_SPLIT 4.0 /* samples in a node: with fewer, its halves can hardly be told apart */

/* One estimate: weigh() goes down the tree of halves, again with a larger `least` where it finds too many nodes; then
 * descend() goes down it once. */
struct descent {
    struct hm_density *density;
    double dispersion; /* variance of the sum of weighted samples, divided by its mean */
    hm_density_take *take;
    void *data;
    /* fewest samples to split a node; more than LEAST_TO_SPLIT if there are too many nodes */
    double least;
    size_t n_weighed, n_taken; /* nodes that were split by weigh(), and by descend() */
};

/* a node of the tree: pages `at` to `end` - 1 of the line */
struct node {
    uint64_t at, end, size; /* `size` is a power of two; larger than the number of pages at the line's end */
    const struct hm_line_place *from, *to;
    double worth;                 /* how much a sample tells, compared with a counted one: 0..1 */
    double samples;               /* how many counted samples would tell as much as the node's do */
    double expected, write_share; /* expected samples, if all nodes above are split, and their share of writes */
    double reached;               /* probability that all nodes above are split */
    double even;                  /* heat per page from the cases where a node above is not split */
};

static double pages_of(const struct node *node)
{
    return (double)(node->end - node->at);
}

static double mass_of(const struct node *node)
{
    return fmax(node->to->before.mass - node->from->before.mass, 0);
}

/* How much a sample in the node tells (`worth`). A node without samples takes the value of `other`. */
static double worth_of(const struct node *node, const struct node *other)
{
    double variance = node->to->before.variance - node->from->before.variance, mass = mass_of(node);
    if (mass <= 0 || variance <= 0)
        return other ? worth_of(other, NULL) : 1;
    return hm_line_worth(mass, variance);
}

/* Sets the node's worth and samples. */
static void value(const struct descent *descent, struct node *node, const struct node *other)
{
    node->worth = worth_of(node, other);
    node->samples = mass_of(node) / descent->dispersion * node->worth;
}

/* Makes both halves, which meet at *middle. The right one has no pages if the line ends before the node's middle. */
static void halve(const struct descent *descent, const struct node *node, struct node half[2],
                  struct hm_line_place *middle)
{
    uint64_t size = node->size / 2, cut = node->at + size;
    const struct hm_line_place *place = node->to;
    if (cut < node->end) {
        *middle = hm_line_place(descent->density, cut, node->from, node->to);
        place = middle;
    } else {
        cut = node->end;
    }
    half[0] = (struct node){.at = node->at, .end = cut, .size = size, .from = node->from, .to = place};
    half[1] = (struct node){.at = cut, .end = node->end, .size = size, .from = place, .to = node->to};
    value(descent, &half[0], &half[1]);
    value(descent, &half[1], &half[0]);
}

/*
 * How thoroughly a node was looked at: its pages times what a sample is worth. Coarse samples count as a less thorough
 * look.
 */
static double seen_of(const struct node *node)
{
    return pages_of(node) * node->worth;
}

static double times_log(double count, double expected)
{
    return count > 0 ? count * log(count / expected) : 0;
}

/*
 * How much likelier the samples are if the halves have two rates than if they have one: the logarithm of the ratio,
 * minus the price of a free rate (Krichevsky and Trofimov: half a logarithm of the samples).
 */
static double log_ratio(const struct node half[2])
{
    double samples = half[0].samples + half[1].samples, seen = seen_of(&half[0]) + seen_of(&half[1]);
    return times_log(half[0].samples, samples * (seen_of(&half[0]) / seen)) +
           times_log(half[1].samples, samples * (seen_of(&half[1]) / seen)) - 0.5 * log(1 + M_PI / 2 * samples);
}

/*
 * The expected share of the left half in the samples, if the halves differ. One sample is added, divided between the
 * sides as if they did not differ.
 */
static double left_part(const struct node half[2])
{
    double seen = seen_of(&half[0]) + seen_of(&half[1]);
    double left = (half[0].samples + seen_of(&half[0]) / seen) / half[0].worth;
    double right = (half[1].samples + seen_of(&half[1]) / seen) / half[1].worth;
    return left / (left + right);
}

/* Heat per page if the halves do not differ. A half whose samples tell little has little weight in it. */
static double even_heat(const struct descent *descent, const struct node *node, const struct node half[2])
{
    double heat = node->expected / pages_of(node), mass = mass_of(node) / descent->dispersion;
    if (mass <= 0)
        return heat;
    double together = (half[0].samples + half[1].samples) / (seen_of(&half[0]) + seen_of(&half[1]));
    return heat * together / (mass / pages_of(node));
}

/* Is the node not split any more? Within one cell everything is even. */
static bool is_leaf(const struct descent *descent, const struct node *node)
{
    double samples = fmax(node->to->before.evidence - node->from->before.evidence, 0) / descent->dispersion;
    return samples < descent->least || node->size == 1 || node->from->even_until >= node->end;
}

/*
 * Calculates from the bottom up the probability that the halves of each node differ, in the order in which descend()
 * visits the nodes. With even odds before any samples, the likelihood of the samples in a node, divided by their
 * likelihood where all its pages have one rate, is
 *
 *     (1 + (two rates / one rate) * the same for the left half * the same for the right half) / 2
 *
 * Returns the logarithm of this. It is exact for counted samples, and cautious for spread ones.
 */
static double weigh(struct descent *descent, const struct node *node)
{
    struct hm_line_place middle;
    struct node half[2];
    if (is_leaf(descent, node) || descent->n_weighed == descent->density->n_nodes)
        return 0;
    float *differs = &descent->density->differs[descent->n_weighed++];
    halve(descent, node, half, &middle);
    if (half[1].at == half[1].end) {
        *differs = 1;
        return weigh(descent, &half[0]);
    }
    double odds = log_ratio(half);
    odds += weigh(descent, &half[0]);
    odds += weigh(descent, &half[1]);
    double smaller = exp(-fabs(odds)); /* the odds, or those against it, if they are the smaller ones */
    *differs = (float)((odds > 0 ? 1 : smaller) / (1 + smaller));
    return fmax(odds, 0) + log1p(smaller) - M_LN2;
}

static double write_share_of(const struct descent *descent, const struct node *node, double above)
{
    double writes = (node->to->before.writes - node->from->before.writes) / descent->dispersion * node->worth;
    return hm_line_write_share(writes, node->samples, above);
}

static void put_leaf(const struct descent *descent, const struct node *node)
{
    double heat = node->even + node->reached * node->expected / pages_of(node);
    double variance = mass_of(node) / descent->dispersion / node->worth / pages_of(node);
    for (uint64_t at = node->at; at < node->end;) {
        const struct hm_stretch *stretch = hm_line_stretch(descent->density, at);
        uint64_t stop = stretch->at + stretch->n_pages < node->end ? stretch->at + stretch->n_pages : node->end;
        struct hm_span span = {.first = stretch->first + (at - stretch->at),
                               .n_pages = stop - at,
                               .heat = heat,
                               .write_share = node->write_share,
                               .variance = variance * (double)(stop - at)};
        descent->take(descent->data, &span);
        at = stop;
    }
}

static void descend(struct descent *descent, const struct node *node)
{
    struct hm_line_place middle;
    struct node half[2];
    if (is_leaf(descent, node)) {
        put_leaf(descent, node);
        return;
    }
    double differs = (double)descent->density->differs[descent->n_taken++];
    halve(descent, node, half, &middle);
    double part = half[1].at < half[1].end ? left_part(half) : 1;
    double even = node->even + node->reached * (1 - differs) * even_heat(descent, node, half);
    for (int i = 0; i < 2 && half[i].at < half[i].end; i++) {
        half[i].expected = node->expected * (i == 0 ? part : 1 - part);
        half[i].even = even;
        half[i].reached = node->reached * differs;
        half[i].write_share = write_share_of(descent, &half[i], node->write_share);
        descend(descent, &half[i]);
    }
}

/* Dispersion of a sum of weighted counts: sum(count * weight^2) / sum(count * weight). */
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

void hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data)
{
    struct descent descent = {
        .density = density, .dispersion = find_dispersion(density->cells), .take = take, .data = data};
    hm_line_lay_out(density);
    if (density->length == 0)
        return;
    const struct hm_density_sum *all = &density->before[density->cells->n];
    const struct hm_line_place end = hm_line_end(density), begin = hm_line_begin(density);
    struct node root = {.end = density->length,
                        .size = 1,
                        .from = &begin,
                        .to = &end,
                        .expected = all->mass,
                        .write_share = all->mass > 0 ? all->writes / all->mass : 0,
                        .reached = 1};
    value(&descent, &root, NULL);
    while (root.size < density->length)
        root.size *= 2;
    double tree_ratio;
    for (descent.least = fmax(density->least, LEAST_TO_SPLIT);; descent.least *= 2) {
        descent.n_weighed = 0;
        tree_ratio = weigh(&descent, &root);
        if (descent.n_weighed < density->n_nodes)
            break;
    }
    struct hm_apart apart = {.log_ratio = -INFINITY};
    if (density->cells->n <= density->most_apart && density->least <= LEAST_TO_SPLIT)
        apart = hm_apart_weigh(density, descent.dispersion);
    if (apart.log_ratio > tree_ratio)
        hm_apart_estimate(density, &apart, take, data);
    else
        descend(&descent, &root);
}
