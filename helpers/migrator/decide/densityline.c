/* SPDX-License-Identifier: Apache-2.0 */
#include "densityline.h"

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

void hm_line_lay_out(struct hm_density *density)
{
    const struct hm_cells *cells = density->cells;
    struct hm_density_sum sum = {0};
    density->length = 0;
    density->n_stretches = 0;
    for (size_t i = 0; i < cells->n; i++) {
        const struct hm_cell *cell = &cells->cell[i];
        struct hm_stretch *last = density->n_stretches > 0 ? &density->stretch[density->n_stretches - 1] : NULL;
        density->before[i] = sum;
        add_cell(&sum, cells, cell);
        if (last && HM_PAGE_SPACE(last->first) == HM_PAGE_SPACE(cell->first) &&
            cell->first - (last->first + last->n_pages) <= density->hole) {
            density->length += hm_cell_end(cell) - (last->first + last->n_pages);
            last->n_pages = hm_cell_end(cell) - last->first;
        } else {
            density->stretch[density->n_stretches++] = (struct hm_stretch){cell->first, cell->n_pages, density->length};
            density->length += cell->n_pages;
        }
    }
    density->before[cells->n] = sum;
}

/* The number of the stretch that contains this place of the line: from `low` to `high`. */
static size_t find_stretch(const struct hm_density *density, uint64_t at, size_t low, size_t high)
{
    while (low < high) {
        size_t middle = high - (high - low) / 2;
        if (density->stretch[middle].at <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

const struct hm_stretch *hm_line_stretch(const struct hm_density *density, uint64_t at)
{
    return &density->stretch[find_stretch(density, at, 0, density->n_stretches - 1)];
}

/* Interpolates between the sums at two places. */
static struct hm_density_sum between(const struct hm_density_sum *a, const struct hm_density_sum *b, double share)
{
    return (struct hm_density_sum){.mass = a->mass + share * (b->mass - a->mass),
                                   .writes = a->writes + share * (b->writes - a->writes),
                                   .variance = a->variance + share * (b->variance - a->variance),
                                   .evidence = a->evidence + share * (b->evidence - a->evidence)};
}

struct hm_line_place hm_line_end(const struct hm_density *density)
{
    size_t n = density->cells->n;
    return (struct hm_line_place){.before = density->before[n], .stretch = density->n_stretches - 1, .cell = n};
}

struct hm_line_place hm_line_begin(const struct hm_density *density)
{
    const struct hm_line_place first = {.cell = 0}, last = hm_line_end(density);
    return hm_line_place(density, 0, &first, &last);
}

struct hm_line_place hm_line_place(const struct hm_density *density, uint64_t at, const struct hm_line_place *from,
                                   const struct hm_line_place *to)
{
    size_t s = find_stretch(density, at, from->stretch, to->stretch);
    const struct hm_stretch *stretch = &density->stretch[s];
    uint64_t page = stretch->first + (at - stretch->at);
    size_t i = hm_cells_find(density->cells, page, from->cell, to->cell);
    const struct hm_cell *cell = &density->cells->cell[i];
    struct hm_line_place place = {.before = density->before[i], .stretch = s, .cell = i};
    if (cell->first > page)
        return place;
    double share = (double)(page - cell->first) / (double)cell->n_pages;
    if (share > 0)
        place.before = between(&density->before[i], &density->before[i + 1], share);
    place.even_until = stretch->at + (hm_cell_end(cell) - stretch->first);
    return place;
}
