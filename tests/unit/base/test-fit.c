/* SPDX-License-Identifier: Apache-2.0 */
/* Tests where sentences end that are too long for their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/fit.h"
#include "unit/lib/rows.h"

static void test_a_long_text_ends_after_a_word(void **state)
{
    (void)state;
    static const struct row {
        size_t size;
        const char *text, *fitted;
    } rows[] = {
        {16, "", ""},
        {16, "it fits in there", "it fits in..."}, /* one byte too long, with the end mark */
        {17, "it fits in there", "it fits in there"},
        {16, "three words here, and more", "three words..."},
        {21, "three words; then more", "three words; then..."},
        {16, "three words: then more", "three words..."},
        {16, "of /a/path/that/is/long", "of /a/path/t..."}, /* half would be left out */
        {16, "/a/path/that/is/long", "/a/path/that..."},
        {8, "one two three", "one..."},
        {8, "                   ", "    ..."},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char out[32];
        memset(out, 'x', sizeof(out));
        size_t length = hm_fit(out, rows[i].size, "%s", rows[i].text);
        if (strcmp(out, rows[i].fitted) != 0 || length != strlen(out) || out[rows[i].size] != 'x')
            fail_msg("\"%s\" in %zu bytes is \"%s\"", rows[i].text, rows[i].size, out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_long_text_ends_after_a_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
