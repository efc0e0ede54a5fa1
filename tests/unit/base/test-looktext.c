/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the text that the caller gets where a child process does the work (looktext.h): the child's own, or one that is
 * made of errno. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/look.h"
#include "base/looktext.h"
#include "unit/lib/rows.h"

static int number; /* errno of the child's end; 0: it succeeds */
static int begins; /* first byte of what the child is given */

/* Runs in place of a child process, which ends with `number`, whatever the function returns. */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    assert_true(size > 0 && patience_ms == 5000);
    begins = *(char *)found;
    (void)look(question, found);
    errno = number;
    return number == 0 ? 0 : -1;
}

static int leave(const void *question, void *text)
{
    memcpy(text, question, strlen(question) + 1);
    return 0;
}

static const struct {
    int number;
    const char *left, *told;
} rows[] = {
    {0, "", ""},
    {EACCES, "cannot remove a: no", "cannot remove a: no"},
    {ENOMEM, "", "cannot remove things in a process of its own: Cannot allocate memory"},
    {ETIMEDOUT, "", "cannot remove things within 5 s: one is in use"},
    {ETIMEDOUT, "cannot remove a: no", "cannot remove things within 5 s: one is in use"},
};

static void test_why_something_was_not_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        const struct hm_lookwork work = {leave, rows[i].left, 5000, "cannot remove things", "one is in use"};
        number = rows[i].number;
        assert_int_equal(hm_looktext_do(&work, &error), number == 0 ? 0 : -1);
        assert_int_equal(number == 0 ? 0 : errno, number);
        assert_string_equal(error.text, rows[i].told);
    }
}

/* Leaves four bytes without a terminating 0, as a child that is killed while it writes. */
static int leave_four(const void *question, void *text)
{
    memcpy(text, question, 4);
    return 0;
}

static void test_a_text_begins_empty_and_has_an_end(void **state)
{
    char text[4] = "abc";
    (void)state;
    number = ETIMEDOUT;
    assert_int_equal(hm_looktext_find(leave_four, "wxyz", text, sizeof(text), 5000), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(begins, '\0');
    assert_string_equal(text, "wxy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_something_was_not_done),
        cmocka_unit_test(test_a_text_begins_empty_and_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
