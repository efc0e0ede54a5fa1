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

const struct hm_stretch *hm_line_stretch(const struct hm_density *density, uint64_t at)
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

/* Interpolates between the sums at two places. */
static struct hm_density_sum between(const struct hm_density_sum *a, const struct hm_density_sum *b, double share)
{
    return (struct hm_density_sum){.mass = a->mass + share * (b->mass - a->mass),
                                   .writes = a->writes + share * (b->writes - a->writes),
                                   .variance = a->variance + share * (b->variance - a->variance),
                                   .evidence = a->evidence + share * (b->evidence - a->evidence)};
}

struct hm_line_place hm_line_place(const struct hm_density *density, uint64_t at)
{
    const struct hm_cells *cells = density->cells;
    if (at >= density->length)
        return (struct hm_line_place){.before = density->before[cells->n]};
    const struct hm_stretch *stretch = hm_line_stretch(density, at);
    uint64_t page = stretch->first + (at - stretch->at);
    size_t i = hm_cells_find(cells, page);
    const struct hm_cell *cell = &cells->cell[i];
    if (cell->first > page)
        return (struct hm_line_place){.before = density->before[i]};
    double share = (double)(page - cell->first) / (double)cell->n_pages;
    return (struct hm_line_place){.before = between(&density->before[i], &density->before[i + 1], share),
                                  .even_until = stretch->at + (hm_cell_end(cell) - stretch->first)};
}
