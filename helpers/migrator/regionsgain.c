/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From samples of loads and stores to what memory sees of them, which is not sampled. A page that a phase touches at
 * all is filled into the cache about once (64 lines); at most each access is a fill. Which of the two it is nearer to
 * is not known, and the more often a page is accessed, the more of it the caches serve. So the geometric mean of both
 * bounds is taken: sqrt(64 * accesses) fills.
 */
#include <math.h>

#include "regionspart.h"

#define LINES 64
/* Accesses to a line while it is in the cache: its eight doubles, each about twice. A line is dirty when one of
 * them was a store: 1 - (1 - share)^16. */
#define DIRTY_DOUBLINGS 4

double hm_regions_gain(const struct hm_decider_options *options, double reads, double writes)
{
    double sampled = reads + writes, accesses = sampled * options->period;
    if (!(sampled > 0))
        return 0;
    double fills = sqrt(LINES * accesses), clean = reads / sampled;
    for (int i = 0; i < DIRTY_DOUBLINGS; i++)
        clean *= clean;
    return (fills < accesses ? fills : accesses) * (options->read_gain + options->write_gain * (1 - clean));
}
