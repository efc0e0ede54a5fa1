/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text that fits the terminal: columns that find no room follow in a table of their own, and text that finds
 * none even there is broken into lines.
 */
#ifndef HM_CLI_DRAW_TABLE_H
#define HM_CLI_DRAW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HM_TABLE_COLUMNS 16 /* most columns of a table */
#define HM_TABLE_CELL 64    /* bytes of a cell, which is ASCII */

struct hm_column {
    const char *title;
    bool is_right;       /* its cells are aligned to the right, as numbers are */
    unsigned char least; /* its least width; ignored where the columns would not fit the terminal with it */
};

struct hm_table {
    const struct hm_column *column;
    size_t n_columns; /* 2 to HM_TABLE_COLUMNS; the first one names the row, and begins each table */
    size_t n_rows;    /* without the titles */
    /* Writes a cell. It is called several times for each cell, and has to write the same each time. */
    void (*write)(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL]);
    const void *data; /* for `write` */
};

/* Prints the table. `screen` is the width of the terminal, as hm_words_columns tells it; 0: any width will do. */
void hm_table_print(FILE *out, const struct hm_table *table, size_t screen);

#endif
