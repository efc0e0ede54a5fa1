/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the size that a test wants, whatever the kernel's are: this replaces base/pagesize.c. One file of the test
 * program includes it.
 */
#ifndef UNIT_LIB_PAGESHIFT_H
#define UNIT_LIB_PAGESHIFT_H

#include "base/pagesize.h"

#define SHIFT_4K 12
#define SHIFT_64K 16

static unsigned page_shift = SHIFT_4K;

unsigned hm_page_shift(void)
{
    return page_shift;
}

/* Runs the group of tests with pages of 4 KiB, then with pages of 64 KiB. */
#define RUN_WITH_BOTH_SIZES(tests)                                                                                     \
    (cmocka_run_group_tests(tests, NULL, NULL) + (page_shift = SHIFT_64K, cmocka_run_group_tests(tests, NULL, NULL)))

#endif
