/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the rows of a table of a test. */
#ifndef UNIT_LIB_ROWS_H
#define UNIT_LIB_ROWS_H

/* The number of rows of a table. */
#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

#endif
