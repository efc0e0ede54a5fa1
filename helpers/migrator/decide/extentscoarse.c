/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How finely the estimate tells heat apart, so that there is room for its extents (extentsparts.h): by the holes
 * between them, by the classes of heat, and by the samples that a border needs.
 */
#include <math.h>

#include "base/amount.h"
#include "densityline.h"
#include "extentsparts.h"

/* Bytes: a longer run of pages without samples is a hole. Up to the second figure where samples lie so far apart that
 * the holes alone are too many. */
#define HOLE (UINT64_C(2) << 20)
#define WIDEST_HOLE (UINT64_C(1) << 30)
#define FINEST_CLASSES 4.0    /* classes of heat for each doubling, to begin with: a new one every factor 2^(1/4) */
#define COARSEST_CLASSES 0.01 /* their number is halved while there are too many extents, down to about this */
/* Where that is not enough, the estimate has a border only between so many samples or more: from the first number on,
 * twice as many each time. For each, the classes are halved from the first number of them down to the second. */
#define FIRST_LEAST 8.0
#define LAST_LEAST 1e6
#define FIRST_CLASSES 1.0
#define LAST_CLASSES 0.5
#define LONGEST_PAUSE 15 /* phases */

void hm_extents_begin_fine(struct hm_extents *extents)
{
    extents->density.hole = HOLE / extents->base.options.page_bytes;
    extents->classes = FINEST_CLASSES;
}

/* Is the estimate finer than before, in anything? */
static bool is_finer(const struct hm_extents *extents, const struct hm_fineness *before)
{
    return extents->classes > before->classes || extents->density.least < before->least ||
           extents->density.hole < before->hole || extents->skips_holes < before->skips_holes;
}

bool hm_extents_refine(struct hm_extents *extents, struct hm_fineness *before)
{
    struct hm_density *density = &extents->density;
    unsigned most = extents->base.options.max_extents;
    bool needs_samples = density->least > 0;
    *before = (struct hm_fineness){.classes = extents->classes,
                                   .least = density->least,
                                   .hole = density->hole,
                                   .skips_holes = extents->skips_holes};
    if (extents->pauses > 0) {
        extents->pauses--;
        return false;
    }
    if (extents->base.n_extents < most / 4) {
        extents->classes = fmin(2 * extents->classes, FINEST_CLASSES);
        density->least = density->least > FIRST_LEAST ? density->least / 2 : 0;
    }
    if (density->n_stretches < most / 16) {
        density->hole = hm_most(density->hole / 2, HOLE / extents->base.options.page_bytes);
        extents->skips_holes = extents->skips_holes && needs_samples;
    }
    return is_finer(extents, before);
}

void hm_extents_learn_fine(struct hm_extents *extents, const struct hm_fineness *before)
{
    unsigned longer = 2 * extents->pause + 1;
    extents->pause = is_finer(extents, before) ? 0 : (unsigned)hm_least(longer, LONGEST_PAUSE);
    extents->pauses = extents->pause;
}

/* Widens the holes if they alone are too many: with each goes an extent before it. Makes so few that half of the room
 * is for heat. Returns false if they are not too many, or cannot be wider. */
static bool widen_holes(struct hm_extents *extents)
{
    struct hm_density *density = &extents->density;
    size_t most = extents->base.options.max_extents, fit = most / 2;
    uint64_t widest = WIDEST_HOLE / extents->base.options.page_bytes;
    if (2 * density->n_stretches <= most || density->hole >= widest)
        return false;
    for (; 2 * density->n_stretches > fit && density->hole < widest; hm_line_lay_out(density))
        density->hole *= 2;
    return true;
}

bool hm_extents_coarsen(struct hm_extents *extents)
{
    double *least = &extents->density.least;
    if (widen_holes(extents))
        return true;
    if (extents->classes > (extents->skips_holes ? LAST_CLASSES : COARSEST_CLASSES)) {
        extents->classes /= 2;
        return true;
    }
    if (*least >= LAST_LEAST)
        return false;
    if (extents->skips_holes)
        *least = fmax(2 * *least, FIRST_LEAST);
    extents->skips_holes = true;
    extents->classes = FIRST_CLASSES;
    return true;
}
