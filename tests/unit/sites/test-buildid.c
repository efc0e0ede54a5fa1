/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the search for build-ids in ELF notes. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sites/profile/buildid.h"
#include "unit/lib/rows.h"

#define WORD(n) (n), 0, 0, 0
#define GNU 'G', 'N', 'U', 0

static const struct {
    size_t length;
    unsigned char notes[64];
    const char *id;
} rows[] = {
    {20, {WORD(4), WORD(3), WORD(3), GNU, 1, 2, 0xff, 0}, "0102ff"},
    /* one of another type before it */
    {40, {WORD(4), WORD(2), WORD(1), GNU, 9, 9, 0, 0, WORD(4), WORD(1), WORD(3), GNU, 7, 0, 0, 0}, "07"},
    /* of another maker */
    {20, {WORD(4), WORD(3), WORD(3), 'X', 'Y', 'Z', 0, 1, 2, 3, 0}, ""},
    {19, {WORD(4), WORD(4), WORD(3), GNU, 1, 2, 3, 4}, ""}, /* cut */
    {11, {WORD(4), WORD(4), WORD(3)}, ""},
    {20, {0xff, 0xff, 0xff, 0xff, WORD(3), WORD(3), GNU, 1, 2, 3, 0}, ""},
    {20, {WORD(4), 0xff, 0xff, 0xff, 0xff, WORD(3), GNU, 1, 2, 3, 0}, ""},
    {40, {WORD(4), 0xfd, 0xff, 0xff, 0xff, WORD(1), GNU, 1, 2, 3, 0}, ""},
    {0, {0}, ""},
};

static void test_notes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        unsigned char id[HM_BUILDID_MOST] = {0};
        char text[HM_BUILDID_TEXT];
        hm_buildid_text(id, hm_buildid_in_notes(rows[i].notes, rows[i].length, id), text);
        assert_string_equal(text, rows[i].id);
    }
}

static void test_files(void **state)
{
    char text[HM_BUILDID_TEXT], same[HM_BUILDID_TEXT];
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_buildid_look("/proc/self/exe", text, &error), 0);
    assert_int_equal(hm_buildid_of_file("/proc/self/exe", same, &error), 0);
    assert_string_equal(same, text);
    assert_int_equal(hm_buildid_look(FIXTURES "/sites/stencil.json", text, &error), -1);
    assert_int_equal(errno, ENOEXEC);
    assert_int_equal(hm_buildid_look("/none", text, &error), -1);
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_notes), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
