/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how tables and sentences are fitted to the width of a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/words.h"
#include "cli/draw/table.h"
#include "unit/lib/rows.h"

#define N_COLUMNS 4

static const struct hm_column columns[N_COLUMNS] = {
    {.title = "NAME", .least = 8}, {.title = "PAGES", .is_right = true}, {.title = "KIND"}, {.title = "REASON"}};

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    static const char *const cells[][N_COLUMNS] = {{"a", "1", "memory", "b"}, {"abcde", "12", "disk", "none at all"}};
    assert_ptr_equal(data, columns);
    snprintf(cell, HM_TABLE_CELL, "%s", cells[row][column]);
}

#define WIDE                                                                                                           \
    "NAME      PAGES  KIND    REASON\n"                                                                                \
    "a             1  memory  b\n"                                                                                     \
    "abcde        12  disk    none at all\n"
#define NARROW                                                                                                         \
    "NAME   PAGES  KIND    REASON\n"                                                                                   \
    "a          1  memory  b\n"                                                                                        \
    "abcde     12  disk    none at all\n"
#define TWO                                                                                                            \
    "NAME   PAGES  KIND\n"                                                                                             \
    "a          1  memory\n"                                                                                           \
    "abcde     12  disk\n"                                                                                             \
    "\n"                                                                                                               \
    "NAME   REASON\n"                                                                                                  \
    "a      b\n"                                                                                                       \
    "abcde  none at all\n"
#define ALONE                                                                                                          \
    "NAME   PAGES\n"                                                                                                   \
    "a          1\n"                                                                                                   \
    "abcde     12\n"                                                                                                   \
    "\n"                                                                                                               \
    "NAME   KIND\n"                                                                                                    \
    "a      memory\n"                                                                                                  \
    "abcde  disk\n"                                                                                                    \
    "\n"                                                                                                               \
    "NAME   REASON\n"                                                                                                  \
    "a      b\n"
#define EACH ALONE "abcde  none at all\n"

/* Where the terminal is too narrow for NAME and one more column, the text of that column is broken into lines. */
#define BROKEN ALONE "abcde  none at\n       all\n"

static char *shown;
static size_t size;

static FILE *begin_output(void)
{
    FILE *out = open_memstream(&shown, &size);
    assert_non_null(out);
    return out;
}

static void assert_output(FILE *out, const char *wanted)
{
    fclose(out);
    assert_string_equal(shown, wanted);
    free(shown);
}

static void test_table(void **state)
{
    static const struct {
        size_t screen;
        const char *shown;
    } rows[] = {{0, WIDE}, {1000, WIDE}, {36, WIDE}, {35, NARROW}, {33, NARROW}, {32, TWO},
                {20, TWO}, {19, EACH},   {18, EACH}, {17, BROKEN}, {14, BROKEN}};
    const struct hm_table table = {columns, N_COLUMNS, 2, write_cell, columns};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        FILE *out = begin_output();
        hm_table_print(out, &table, rows[i].screen);
        assert_output(out, rows[i].shown);
    }
}

static void test_text(void **state)
{
    static const struct {
        size_t columns;
        const char *shown;
    } rows[] = {{0, "Samples: 12  in a phase.\n"},
                {24, "Samples: 12  in a phase.\n"},
                {23, "Samples: 12  in a\n  phase.\n"},
                {12, "Samples: 12\n  in a\n  phase.\n"},
                {1, "Samples: 12\n  in\n  a\n  phase.\n"}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        FILE *out = begin_output();
        hm_words_put_text(out, rows[i].columns, 2, "Samples: %d  in a phase.", 12);
        assert_output(out, rows[i].shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
