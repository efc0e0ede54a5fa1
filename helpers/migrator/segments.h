/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How densely each part of the addresses is sampled. Neighbours whose samples look most alike are joined, again and
 * again, until each process is one segment; what a join loses in likelihood (of Poisson counts) says how surely the two
 * differ. Then, from the whole down to the parts, each part takes over the density of what it is in, except as far as
 * it surely differs. Where there are many samples borders come out exactly, where there are few the mean does. Pure.
 *
 * The likelihood is that of Bayesian blocks (Scargle and others, Astrophysical Journal 764, 2013), the shrinkage along
 * a tree that of Kolaczyk (Bayesian multiscale models for Poisson processes, JASA 94, 1999).
 */
#ifndef HM_SEGMENTS_H
#define HM_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#define HM_SEGMENT_NONE UINT32_MAX

struct hm_segment {
    uint64_t first, n_pages;
    double exposure;      /* pages times phases */
    float reads, writes;  /* samples */
    float loss;           /* of joining left and right, in natural units of likelihood */
    uint32_t left, right; /* what was joined, or NONE */
    union {
        struct { /* while they are joined */
            uint32_t previous, next;
            float next_loss; /* of joining with the next one */
        };
        struct {                               /* the result */
            float read_density, write_density; /* samples per page and phase */
            float support;                     /* samples that the densities rest on */
        };
    };
};

/*
 * The first n of `segment` are given: by ascending page, without holes, of one process; there is room for 2 n - 1.
 * Their densities and support are filled in.
 */
void hm_segments_estimate(struct hm_segment *segment, size_t n);

/* Natural logarithm of a positive number, within 1e-9, the same bits on every machine (libm's are not). */
double hm_segments_log(double x);

/* What is lost in likelihood when a counts over an exposure of e, and b over f, are taken for one density. */
double hm_segments_loss(double a, double e, double b, double f);

#endif
