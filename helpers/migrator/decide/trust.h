/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how far predicted gains come true. After each phase, moves are chosen as if every gain were certain, and
 * the samples of the next phase show what these moves would have gained: a trial, whether they are carried out or not.
 * If heat moves on, or was only noise, gains come true in part, and only that part of a prediction is believed. When
 * predictions come true again, they are believed again; no page has to be moved to find that out. For the decision
 * code.
 */
#ifndef HM_MIGRATOR_DECIDE_TRUST_H
#define HM_MIGRATOR_DECIDE_TRUST_H

#include "cells.h"

/* A span that would be moved. `part`: share of its pages that would be promoted; negative: demoted. */
struct hm_promise {
    uint64_t first, n_pages;
    double part;
};

struct hm_trust {
    struct hm_promise *promise; /* those of the last trial; room for one per extent */
    size_t n;
    double gain;           /* what these moves promise, in weighted samples per phase */
    double samples;        /* weighted samples of the last phase */
    double scatter;        /* variance of the samples divided by their number: 1 if all were counted one by one */
    double promised, kept; /* gains that were promised, and that came true: sums over phases, older ones weigh less */
    double noise;          /* variance of `kept`, summed in the same way */
};

/* Begins a new trial, and drops the one before. */
void hm_trust_begin(struct hm_trust *trust);
/* Adds a span to the trial, with the weighted samples per phase that are expected of the pages that would move. */
void hm_trust_promise(struct hm_trust *trust, const struct hm_promise *promise, double heat);
/* Compares the trial with the samples of a phase that ends. Call it before they age. Returns what its moves would have
 * gained, in weighted samples. */
double hm_trust_see(struct hm_trust *trust, const struct hm_cells *cells);
/* The share of a predicted gain that is to be believed, 0..1. */
double hm_trust_factor(const struct hm_trust *trust);

#endif
