/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Have moves kept what they promised? Each phase's moves predict a gain in samples; the phases after it show what came
 * of it. Where heat moves on, or noise was taken for it, predictions come true in part only, and later ones are
 * believed as much less. For the decision code.
 */
#ifndef HM_TRUST_H
#define HM_TRUST_H

#include "cells.h"

#define HM_TRUST_PHASES 4 /* for which moves are watched */

/* A span that was moved. `part`: of its pages, those that were moved up; negative: down. */
struct hm_promise {
    uint64_t first, n_pages;
    double part;
};

struct hm_trust {
    struct hm_promise *promise[HM_TRUST_PHASES]; /* room for one per region */
    size_t n[HM_TRUST_PHASES];
    double gain[HM_TRUST_PHASES]; /* promised, in weighted samples per phase */
    unsigned now;
    double samples;        /* weighted, of the last phase */
    double promised, kept; /* sums, older ones count less */
};

/* Begin the promises of a phase; those of HM_TRUST_PHASES phases ago are dropped. */
void hm_trust_begin(struct hm_trust *trust);
/* Moved pages in a span, and the weighted samples per phase that are expected of them. */
void hm_trust_promise(struct hm_trust *trust, const struct hm_promise *promise, double heat);
/* Compare with the samples of a phase that ends, before they age. */
void hm_trust_see(struct hm_trust *trust, const struct hm_cells *cells);
/* 0..1: by how much a predicted gain is to be believed. */
double hm_trust_factor(const struct hm_trust *trust);

#endif
