/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on amounts that are never negative. Pure. */
#ifndef HM_BASE_AMOUNT_H
#define HM_BASE_AMOUNT_H

#include <stdint.h>

static inline uint64_t hm_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t hm_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* `from` minus `amount`, or 0 where `amount` is the larger one. */
static inline uint64_t hm_less(uint64_t from, uint64_t amount)
{
    return from > amount ? from - amount : 0;
}

/* The next multiple of `unit`, or `amount` where it is one. The caller knows that this does not overflow. */
static inline uint64_t hm_round_up(uint64_t amount, uint64_t unit)
{
    return (amount + unit - 1) / unit * unit;
}

#endif
