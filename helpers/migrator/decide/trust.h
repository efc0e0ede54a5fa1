/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do moves keep what they promise? After each phase, moves are chosen as if every gain were certain, and the samples of
 * the next phase show what they would have gained: a trial, of moves that are carried out or not. Where heat moves on,
 * or noise was taken for it, promises come true in part only, and gains are believed as much less; as soon as promises
 * would come true, they are believed again, and no page had to be moved to find that out. For the decision code.
 */
#ifndef HM_MIGRATOR_DECIDE_TRUST_H
#define HM_MIGRATOR_DECIDE_TRUST_H

#include "cells.h"

/* A span that would be moved. `part`: of its pages, those that go up; negative: down. */
struct hm_promise {
    uint64_t first, n_pages;
    double part;
};

struct hm_trust {
    struct hm_promise *promise; /* of the last trial; room for one per region */
    size_t n;
    double gain;           /* that it promises, in weighted samples per phase */
    double samples;        /* weighted, of the last phase */
    double scatter;        /* their variance by their number: 1 where all were counted */
    double promised, kept; /* sums, older ones count less */
    double noise;          /* variance of what was kept, summed alike */
};

/* Begin a trial; the one before it is dropped. */
void hm_trust_begin(struct hm_trust *trust);
/* A span of the trial, and the weighted samples per phase that are expected of those of its pages that would move. */
void hm_trust_promise(struct hm_trust *trust, const struct hm_promise *promise, double heat);
/* Compare with the samples of a phase that ends, before they age. */
void hm_trust_see(struct hm_trust *trust, const struct hm_cells *cells);
/* 0..1: by how much a predicted gain is to be believed. */
double hm_trust_factor(const struct hm_trust *trust);

#endif
