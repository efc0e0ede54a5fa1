/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include <math.h>

#include "base/search.h"
#include "pending.h"

/* Cells that are more than so many times their size apart are not joined, if there is room for them; and the most that
 * this is doubled to where there is none: more than any two cells of a process can be apart. */
#define FAR 8.0
#define FURTHEST 0x1p60
#define USUAL 4 /* a cell with so many times the mean evidence of all has much */
/* A cell with less evidence is removed. One counted sample has so little after some six phases. */
#define LEAST_EVIDENCE 0.05

static double samples_of(const struct hm_cell *cell)
{
    return (double)(cell->reads + cell->writes + cell->new_reads + cell->new_writes);
}

static double excess_of(const struct hm_cell *cell)
{
    return (double)(cell->excess + cell->new_excess);
}

static double evidence_of(const struct hm_cell *cell)
{
    return hm_cell_evidence(samples_of(cell), excess_of(cell));
}

static double evidence_together(const struct hm_cell *a, const struct hm_cell *b)
{
    return hm_cell_evidence(samples_of(a) + samples_of(b), excess_of(a) + excess_of(b));
}

void hm_cells_add(struct hm_cells *cells, const struct hm_observation *observation)
{
    if (cells->n_pending == cells->pending_room)
        hm_cells_sort_in(cells);
    cells->pending[cells->n_pending++] = *observation;
}

/* The part of a cell from page `first` to `end` - 1. */
static struct hm_cell part_of(const struct hm_cell *cell, uint64_t first, uint64_t end)
{
    float share = (float)((double)(end - first) / (double)cell->n_pages);
    return (struct hm_cell){first,
                            end - first,
                            cell->reads * share,
                            cell->writes * share,
                            cell->excess * share,
                            cell->new_reads * share,
                            cell->new_writes * share,
                            cell->new_excess * share};
}

/* Extends `last` to the end of `cell`, which comes after it. */
static void join(struct hm_cell *last, const struct hm_cell *cell)
{
    last->n_pages = hm_cell_end(cell) - last->first;
    last->reads += cell->reads;
    last->writes += cell->writes;
    last->excess += cell->excess;
    last->new_reads += cell->new_reads;
    last->new_writes += cell->new_writes;
    last->new_excess += cell->new_excess;
}

static void observe(struct hm_cell *cell, const struct hm_observation *observation, double share)
{
    cell->new_reads += (float)((double)observation->reads * share);
    cell->new_writes += (float)((double)observation->writes * share);
    cell->new_excess += (float)((double)(observation->reads + observation->writes) * share * observation->excess);
}

/* Joins neighbours of an array of cells, as long as they tell no more than `limit` samples together, and are no further
 * apart than `far` times their size. Returns the new number. */
static size_t join_neighbours(struct hm_cell *cell, size_t n, double limit, double far)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct hm_cell *last = kept > 0 ? &cell[kept - 1] : NULL;
        if (last && HM_PAGE_SPACE(last->first) == HM_PAGE_SPACE(cell[i].first) &&
            fmax(evidence_of(last), evidence_of(&cell[i])) <= limit && evidence_together(last, &cell[i]) <= limit &&
            (double)(cell[i].first - hm_cell_end(last)) <= far * (double)(last->n_pages + cell[i].n_pages)) {
            join(last, &cell[i]);
        } else {
            cell[kept++] = cell[i];
        }
    }
    return kept;
}

/*
 * Reduces the n cells of the array to at most `most`, by joining neighbours with little evidence, the least first, that
 * are no more than FAR times their size apart. If that is not enough before cells have USUAL times the mean evidence,
 * samples lie far apart: then cells that are further apart are joined, too, the nearest first. Returns the new number.
 */
static size_t coarsen(struct hm_cell *cell, size_t n, size_t most)
{
    double all = 0, far = FAR, limit = 1;
    for (size_t i = 0; i < n; i++)
        all += evidence_of(&cell[i]);
    while (n > most && (far < FURTHEST || limit <= 2 * all)) {
        n = join_neighbours(cell, n, limit, far);
        double usual = USUAL * all / (double)n;
        bool is_usual = 2 * limit > usual && far < FURTHEST;
        limit = is_usual ? usual : 2 * limit;
        far *= is_usual ? 2 : 1;
    }
    return n < most ? n : most; /* with more processes than that, the last cells are lost */
}

/* a pass through cells and observations, both sorted by page */
struct sweep {
    struct hm_cells *cells;
    size_t n_out;
};

static void put(struct sweep *sweep, struct hm_cell cell)
{
    if (cell.n_pages == 0)
        return;
    if (sweep->n_out == sweep->cells->room)
        sweep->n_out = coarsen(sweep->cells->spare, sweep->n_out, sweep->cells->room / 2);
    sweep->cells->spare[sweep->n_out++] = cell;
}

/*
 * Adds one observation to the cells from `from` on, which no earlier observation reaches. Cells that end before the
 * observation are output. Where the observation ends within a cell, the rest of that cell stays in place. Returns the
 * first cell that was not output.
 */
static size_t lay(struct sweep *sweep, const struct hm_observation *observation, size_t from)
{
    struct hm_cells *cells = sweep->cells;
    uint64_t at = observation->page, end = HM_PAGE_END(at, observation->n_pages);
    double pages = (double)observation->n_pages;
    size_t i = from;
    while (i < cells->n && hm_cell_end(&cells->cell[i]) <= at)
        put(sweep, cells->cell[i++]);
    while (at < end) {
        struct hm_cell *cell = i < cells->n ? &cells->cell[i] : NULL;
        uint64_t stop = cell && cell->first < end ? cell->first : end;
        struct hm_cell out = {.first = at};
        if (cell && cell->first < at) { /* the cell begins before: cut it */
            put(sweep, part_of(cell, cell->first, at));
            *cell = part_of(cell, at, hm_cell_end(cell));
        }
        if (cell && cell->first == at) {
            stop = hm_cell_end(cell) < end ? hm_cell_end(cell) : end;
            out = part_of(cell, at, stop);
            if (stop == hm_cell_end(cell))
                i++;
            else
                *cell = part_of(cell, stop, hm_cell_end(cell));
        }
        out.n_pages = stop - at;
        observe(&out, observation, (double)out.n_pages / pages);
        put(sweep, out);
        at = stop;
    }
    return i;
}

/* Outputs the rest of the cells, and makes the output the present cells. */
static void finish(struct sweep *sweep, size_t from)
{
    struct hm_cells *cells = sweep->cells;
    while (from < cells->n)
        put(sweep, cells->cell[from++]);
    struct hm_cell *done = cells->spare;
    cells->spare = cells->cell;
    cells->cell = done;
    cells->n = sweep->n_out;
}

void hm_cells_sort_in(struct hm_cells *cells)
{
    struct hm_observation *pending = cells->pending;
    size_t count = cells->n_pending;
    hm_pending_sort(pending, (void *)cells->spare, count);
    /* An observation that overlaps an earlier one waits for the next pass, unless both are of the same single page. */
    while (count > 0) {
        struct sweep sweep = {.cells = cells};
        size_t from = 0, later = 0;
        uint64_t reached = 0;
        for (size_t i = 0; i < count; i++) {
            if (i > 0 && pending[i].page < reached) {
                struct hm_cell *last = sweep.n_out > 0 ? &cells->spare[sweep.n_out - 1] : NULL;
                if (last && pending[i].n_pages == 1 && last->n_pages == 1 && last->first == pending[i].page)
                    observe(last, &pending[i], 1);
                else
                    pending[later++] = pending[i];
                continue;
            }
            reached = HM_PAGE_END(pending[i].page, pending[i].n_pages);
            from = lay(&sweep, &pending[i], from);
        }
        finish(&sweep, from);
        count = later;
    }
    cells->n_pending = 0;
}

/*
 * Is the border between two cells worth keeping? The borders of DAMON's regions wander, so that cells whose samples are
 * spread evenly are cut at arbitrary places. If neither side has the evidence of even one sample, the border says
 * nothing.
 */
static bool is_worth_a_border(const struct hm_cell *last, const struct hm_cell *cell)
{
    if (last->excess <= 0 || cell->excess <= 0 || hm_cell_end(last) != cell->first ||
        HM_PAGE_SPACE(last->first) != HM_PAGE_SPACE(cell->first))
        return true;
    if (fmin(evidence_of(last), evidence_of(cell)) < LEAST_EVIDENCE)
        return false; /* the cell would be removed */
    return evidence_of(last) > 1 || evidence_of(cell) > 1 || evidence_together(last, cell) > 1;
}

/* Removes the last cell, which is complete now, if it has too little evidence. Returns the number of cells kept. */
static size_t settle(const struct hm_cells *cells, size_t kept)
{
    return kept > 0 && evidence_of(&cells->cell[kept - 1]) < LEAST_EVIDENCE ? kept - 1 : kept;
}

void hm_cells_age(struct hm_cells *cells, double decay)
{
    size_t kept = 0;
    for (size_t i = 0; i < cells->n; i++) {
        struct hm_cell cell = cells->cell[i];
        cell.reads = cell.reads * (float)decay + cell.new_reads;
        cell.writes = cell.writes * (float)decay + cell.new_writes;
        cell.excess = cell.excess * (float)decay + cell.new_excess;
        cell.new_reads = cell.new_writes = cell.new_excess = 0;
        if (kept > 0 && !is_worth_a_border(&cells->cell[kept - 1], &cell)) {
            join(&cells->cell[kept - 1], &cell);
        } else {
            kept = settle(cells, kept);
            cells->cell[kept++] = cell;
        }
    }
    cells->n = settle(cells, kept);
}

void hm_cells_forget(struct hm_cells *cells, const struct hm_gone *gone, size_t n)
{
    struct sweep sweep = {.cells = cells};
    size_t next = 0; /* the first span that ends after what was passed */
    for (size_t i = 0; i < cells->n; i++) {
        struct hm_cell cell = cells->cell[i];
        uint64_t at = cell.first, end = hm_cell_end(&cell);
        while (next < n && HM_PAGE_END(gone[next].first, gone[next].n_pages) <= at)
            next++;
        for (size_t g = next; g < n && gone[g].first < end; g++) {
            if (gone[g].first > at)
                put(&sweep, part_of(&cell, at, gone[g].first));
            at = HM_PAGE_END(gone[g].first, gone[g].n_pages);
        }
        if (at < end)
            put(&sweep, at > cell.first ? part_of(&cell, at, end) : cell);
    }
    finish(&sweep, cells->n);
}

size_t hm_cells_find(const struct hm_cells *cells, uint64_t page, size_t low, size_t high)
{
    size_t i = low + HM_SEARCH_UPTO(cells->cell + low, high - low, first, page);
    return i > low && hm_cell_end(&cells->cell[i - 1]) > page ? i - 1 : i;
}

double hm_cells_new_in(const struct hm_cells *cells, uint64_t first, uint64_t end, double *variance)
{
    double sum = 0, excess = 0;
    for (size_t i = hm_cells_find(cells, first, 0, cells->n); i < cells->n && cells->cell[i].first < end; i++) {
        const struct hm_cell *cell = &cells->cell[i];
        uint64_t from = cell->first > first ? cell->first : first,
                 to = hm_cell_end(cell) < end ? hm_cell_end(cell) : end;
        double share = (double)(to - from) / (double)cell->n_pages;
        double counted = (double)(cell->new_reads + cell->new_writes);
        double samples = cells->read_weight * (double)cell->new_reads + cells->write_weight * (double)cell->new_writes;
        sum += samples * share;
        excess += counted > 0 ? samples / counted * (double)cell->new_excess * share : 0;
    }
    *variance = sum + excess;
    return sum;
}
