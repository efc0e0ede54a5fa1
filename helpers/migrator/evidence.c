/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence.h"

#include <stdlib.h>

/* Less than that is forgotten: a sample of about forty phases ago. */
#define FORGOTTEN (1.0F / 64)
/* Cells are halved when they fill less than 1/8 of the room: far from where they would be doubled again. */
#define FEW_CELLS 8

static int compare_sampled(const void *a, const void *b)
{
    const struct hm_sampled *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static void add_to_cell(struct hm_cell *cell, const struct hm_cell *other)
{
    cell->reads += other->reads;
    cell->writes += other->writes;
    cell->new_reads += other->new_reads;
    cell->new_writes += other->new_writes;
    cell->weight = cell->weight > other->weight ? cell->weight : other->weight;
}

/* Twice as large cells. */
static void coarsen(struct hm_evidence *evidence)
{
    size_t kept = 0;
    evidence->shift++;
    for (size_t i = 0; i < evidence->n_cells; i++) {
        struct hm_cell cell = evidence->cell[i];
        cell.key >>= 1;
        if (kept > 0 && evidence->cell[kept - 1].key == cell.key)
            add_to_cell(&evidence->cell[kept - 1], &cell);
        else
            evidence->cell[kept++] = cell;
    }
    evidence->n_cells = kept;
}

/* Half as large cells, each half with half of the samples. */
static void refine(struct hm_evidence *evidence)
{
    evidence->shift--;
    for (size_t i = evidence->n_cells; i-- > 0;) {
        struct hm_cell half = evidence->cell[i];
        half.key <<= 1;
        half.reads /= 2;
        half.writes /= 2;
        evidence->cell[2 * i] = half;
        half.key++;
        evidence->cell[2 * i + 1] = half;
    }
    evidence->n_cells *= 2;
}

void hm_evidence_absorb(struct hm_evidence *evidence)
{
    struct hm_cell *out = evidence->spare;
    const struct hm_sampled *sampled = evidence->sampled, *end = sampled + evidence->n_sampled;
    size_t at = 0, n = 0;
    qsort(evidence->sampled, evidence->n_sampled, sizeof(*evidence->sampled), compare_sampled);
    while (at < evidence->n_cells || sampled < end) {
        if (sampled == end || (at < evidence->n_cells && evidence->cell[at].key <= sampled->key))
            out[n] = evidence->cell[at++];
        else
            out[n] = (struct hm_cell){.key = sampled->key, .weight = -1};
        for (; sampled < end && sampled->key == out[n].key; sampled++) {
            out[n].new_reads += sampled->reads;
            out[n].new_writes += sampled->writes;
        }
        n++;
    }
    evidence->spare = evidence->cell;
    evidence->cell = out;
    evidence->n_cells = n;
    evidence->n_sampled = 0;
    while (evidence->n_cells > evidence->most_cells)
        coarsen(evidence);
}

static void add_one(struct hm_evidence *evidence, uint64_t page, float reads, float writes)
{
    if (evidence->n_sampled == evidence->room)
        hm_evidence_absorb(evidence);
    evidence->sampled[evidence->n_sampled++] =
        (struct hm_sampled){.key = page >> evidence->shift, .reads = reads, .writes = writes};
}

/* A range goes to each cell in it, in proportion. Where these are too many for the room, cells grow on the way. */
void hm_evidence_add(struct hm_evidence *evidence, const struct hm_observation *observation)
{
    uint64_t page = observation->page, n_pages = observation->n_pages > 0 ? observation->n_pages : 1;
    uint64_t end = page + n_pages;
    while (page < end) {
        uint64_t next = ((page >> evidence->shift) + 1) << evidence->shift;
        next = next < end ? next : end;
        float share = (float)((double)(next - page) / (double)n_pages);
        add_one(evidence, page, share * observation->reads, share * observation->writes);
        page = next;
    }
}

void hm_evidence_forget(struct hm_evidence *evidence, uint64_t first, uint64_t end)
{
    size_t kept = 0;
    hm_evidence_absorb(evidence);
    for (size_t i = 0; i < evidence->n_cells; i++) {
        uint64_t page = evidence->cell[i].key << evidence->shift;
        if (page < first || page >= end)
            evidence->cell[kept++] = evidence->cell[i];
    }
    evidence->n_cells = kept;
}

void hm_evidence_tidy(struct hm_evidence *evidence)
{
    size_t kept = 0;
    for (size_t i = 0; i < evidence->n_cells; i++)
        if (evidence->cell[i].reads + evidence->cell[i].writes >= FORGOTTEN)
            evidence->cell[kept++] = evidence->cell[i];
    evidence->n_cells = kept;
    while (evidence->shift > 0 && evidence->n_cells < evidence->most_cells / FEW_CELLS)
        refine(evidence);
}
