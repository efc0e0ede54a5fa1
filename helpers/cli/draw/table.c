/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdint.h>
#include <string.h>

#include "base/words.h"

#define GAP 2 /* between two columns */
#define TITLES SIZE_MAX

static void write_cell(const struct hm_table *table, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    if (row == TITLES)
        snprintf(cell, HM_TABLE_CELL, "%s", table->column[column].title);
    else
        table->write(table->data, row, column, cell);
}

/* Finds each column's width. Returns the whole table's. */
static size_t measure(const struct hm_table *table, bool has_least, size_t width[HM_TABLE_COLUMNS])
{
    char cell[HM_TABLE_CELL];
    size_t whole = 0;
    for (size_t i = 0; i < table->n_columns; i++) {
        width[i] = has_least ? table->column[i].least : 0;
        for (size_t row = 0; row <= table->n_rows; row++) {
            write_cell(table, row < table->n_rows ? row : TITLES, i, cell);
            width[i] = strlen(cell) > width[i] ? strlen(cell) : width[i];
        }
        whole += width[i] + (i > 0 ? GAP : 0);
    }
    return whole;
}

/*
 * Returns the index after the last column that fits beside the first one, from column `from` on. At least one column is
 * taken.
 */
static size_t count_fitting(const struct hm_table *table, const size_t width[HM_TABLE_COLUMNS], size_t from,
                            size_t screen)
{
    size_t used = width[0], end = from;
    while (end < table->n_columns && (end == from || screen == 0 || used + GAP + width[end] <= screen))
        used += GAP + width[end++];
    return end;
}

/*
 * Prints the row's first cell, and those from `from` to `end` - 1. If the last one is text that finds no room, it is
 * broken into lines.
 */
static void print_row(FILE *out, const struct hm_table *table, const size_t width[HM_TABLE_COLUMNS], size_t row,
                      size_t from, size_t end, size_t screen)
{
    char cell[HM_TABLE_CELL], head[HM_TABLE_COLUMNS * (HM_TABLE_CELL + GAP)];
    size_t used = 0;
    for (size_t i = 0; i < end; i = i == 0 ? from : i + 1) {
        bool is_right = table->column[i].is_right;
        write_cell(table, row, i, cell);
        if (i == end - 1 && !is_right) {
            hm_words_put_row(out, screen, used + GAP, cell, "%s", head);
            return;
        }
        used += (size_t)snprintf(head + used, sizeof(head) - used, "%*s%*s", i > 0 ? GAP : 0, "",
                                 (is_right ? 1 : -1) * (int)width[i], cell);
    }
    fprintf(out, "%s\n", head);
}

void hm_table_print(FILE *out, const struct hm_table *table, size_t screen)
{
    size_t width[HM_TABLE_COLUMNS];
    if (measure(table, true, width) > screen && screen > 0)
        measure(table, false, width);
    for (size_t from = 1, end; from < table->n_columns; from = end) {
        end = count_fitting(table, width, from, screen);
        if (from > 1)
            fputc('\n', out);
        print_row(out, table, width, TITLES, from, end, screen);
        for (size_t row = 0; row < table->n_rows; row++)
            print_row(out, table, width, row, from, end, screen);
    }
}
