/* SPDX-License-Identifier: Apache-2.0 */
#include "misses.h"

#include <math.h>

#define MISSES_AT_MEAN 0.05

double hm_misses_per_access(double heat, double mean)
{
    return heat > mean ? MISSES_AT_MEAN * sqrt(mean / heat) : MISSES_AT_MEAN;
}
