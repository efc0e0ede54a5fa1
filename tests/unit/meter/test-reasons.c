/* SPDX-License-Identifier: Apache-2.0 */
/* Tests reasons in a text of limited size: each reason is whole there, or left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "meter/count/reasons.h"
#include "unit/lib/rows.h"

#define SIZE 64 /* room for 31 characters of reasons, and for the number of those left out */

static void test_what_has_room(void **state)
{
    static const struct {
        const char *reason[4], *text;
    } rows[] = {
        {{"a thirty-one characters' reason"}, "a thirty-one characters' reason"},
        {{"a thirty-two character's reasons"}, "1 reason that is too long to be kept"},
        {{"a thirty-two character's reasons", "a thirty-two character's reasons"},
         "2 reasons that are too long to be kept"},
        {{"fourteen chars", "fifteen letters"}, "fourteen chars; fifteen letters"},
        {{"fourteen chars", "sixteen letters,"}, "fourteen chars; and 1 more"},
        {{"fourteen chars", "sixteen letters,", "and more than that"}, "fourteen chars; and 2 more"},
        {{"no room for any after this one", "x", "y"}, "no room for any after this one; and 2 more"},
        {{"one", "of thirty-one characters in all", "two"}, "one; two; and 1 more"},
        {{""}, ""},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[SIZE];
        struct hm_reasons reasons = hm_reasons_begin(text, sizeof(text));
        for (int r = 0; r < 4 && rows[i].reason[r]; r++)
            hm_reasons_add(&reasons, "; ", "%s", rows[i].reason[r]);
        hm_reasons_end(&reasons);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_the_last_words_have_room(void **state)
{
    char text[SIZE];
    struct hm_reasons reasons = hm_reasons_begin(text, sizeof(text));
    (void)state;
    hm_reasons_add(&reasons, "; ", "%s", "a thirty-one characters' reason");
    reasons.n_more = 2147483647;
    hm_reasons_end(&reasons);
    assert_string_equal(text, "a thirty-one characters' reason; and 2147483647 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_has_room),
        cmocka_unit_test(test_the_last_words_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
