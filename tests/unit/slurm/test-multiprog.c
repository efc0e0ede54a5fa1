/* SPDX-License-Identifier: Apache-2.0 */
/* Which program has a task of srun --multi-prog? */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slurm/multiprog.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void the_program_of_a_task_is_found(void **state)
{
    (void)state;
    static const char usual[] = "# ocean and air\n\n0-3,6\t/opt/ocean %t\n4,5 ./air -o %o\n* idle\n";
    static const struct {
        const char *text;
        uint32_t task;
        const char *program; /* NULL: there is none */
    } rows[] = {
        {usual, 0, "/opt/ocean"},
        {usual, 3, "/opt/ocean"},
        {usual, 5, "./air"},
        {usual, 6, "/opt/ocean"},
        {usual, 7, "idle"},
        {"", 0, NULL},
        {"0 a\n", 1, NULL},
        {"0 a", 0, "a"},
        {"0", 0, NULL},
        {"0\n* a\n", 0, NULL}, /* as Slurm reads no further */
        {"0   \n", 0, NULL},
        {"  0   a  b\n", 0, "a"},
        {"1-x,3- b\n0,2-2,x,9-7,4 a\n", 4, "a"},
        {"1-x,3- b\n0,2-2,x,9-7,4 a\n", 3, NULL},
        {"2-4,7 bin/%o-%t-%%x\n", 7, "bin/3-7-x"},
        {"* bin/%o%t", 2, "bin/22"},
        {"0 'my program' x\n", 0, "my program"},
        {"0 my\\ program x\n", 0, "my program"},
        {"0 'my program\n", 0, NULL},
        {"0 pro\\\ngram x\n", 0, "program"},
        {"0 a \\\n1 b\n1 c\n", 1, "c"}, /* the second line belongs to the first */
        {"#\\\n0 a\n0 b\n", 0, "b"},
        {"0 a\\", 0, "a"},
        {"0 a%", 0, "a"},
        {"0 a%\n1 b\n", 0, "a"},
        {"0-99999999999 a\n", UINT32_MAX, "a"},
        {"0 a-name-that-does-not-fit\n", 0, NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char program[16];
        int result = hm_multiprog_find(rows[i].text, rows[i].task, program, sizeof(program));
        if (result != (rows[i].program ? 0 : -1) || (rows[i].program && strcmp(program, rows[i].program) != 0))
            fail_msg("row %zu: %d, \"%s\"", i, result, result == 0 ? program : "");
    }
    assert_int_equal(errno, ENAMETOOLONG);
}

/* What a user gives to a program is not taken for a configuration. */
static void only_a_file_and_its_text_are_a_configuration(void **state)
{
    (void)state;
    static char large[100001]; /* srun of Slurm 25.11 and later takes files of more than 60,000 bytes */
    char path[256], text[] = "0 a\n1 b\n", other[] = "0 a\n", missing[] = "/no/such/file", folder[] = "/";
    char large_path[256];
    snprintf(path, sizeof(path), "%s", scratch_path("tasks"));
    scratch_write(path, text);
    memset(large, '#', sizeof(large) - 1);
    snprintf(large_path, sizeof(large_path), "%s", scratch_path("large"));
    scratch_write(large_path, large);
    const struct {
        char *words[3];
        bool is;
    } rows[] = {
        {{path, text, NULL}, true},     {{path, other, NULL}, false},      {{path, NULL}, false},
        {{missing, text, NULL}, false}, {{folder, text, NULL}, false},     {{NULL}, false},
        {{path, large, NULL}, false},   {{large_path, large, NULL}, true}, {{large_path, text, NULL}, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_int_equal(hm_multiprog_is(rows[i].words), rows[i].is);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_of_a_task_is_found),
        cmocka_unit_test(only_a_file_and_its_text_are_a_configuration),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
